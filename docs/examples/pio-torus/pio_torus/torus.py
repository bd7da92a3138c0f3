"""Heat on a torus: s_t = α (s_xx + s_yy), periodic in x and y, s(0, x, y) = u(x, y)."""

from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

import pio

# Whole wave numbers along x and along y, one of each pair ±k.
WAVES = np.array([(1, 0), (0, 1), (1, 1), (1, -1)])


@dataclass(frozen=True)
class Ripples:
    """u = Σ a_k cos 2πk·(x, y) + b_k sin 2πk·(x, y), with normal coefficients, on 6 × 6 sensors."""

    coordinates = ("x", "y")

    @cached_property
    def sensors(self):
        side = np.arange(6) / 6
        return np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)

    @cached_property
    def analysis(self):
        """The matrix from u on the sensors to its coefficients."""
        return np.linalg.pinv(self.basis(*self.sensors.T, np)).T

    def basis(self, x, y, xp):
        """Every wave at some places, on a new last axis; with NumPy or jax.numpy."""
        along = (
            2 * np.pi * c[..., None] * xp.asarray(k, c.dtype)
            for c, k in zip((x, y), WAVES.T, strict=True)
        )
        phases = sum(along)
        return xp.concatenate([xp.cos(phases), xp.sin(phases)], -1)

    def sample(self, key, n):
        coefficients = jax.random.normal(key, (n, 2 * len(WAVES)))
        return coefficients @ jnp.asarray(self.basis(*self.sensors.T, np).T, coefficients.dtype)

    def at(self, u, x, y):
        coefficients = u @ jnp.asarray(self.analysis, u.dtype)
        return pio.contract(coefficients, self.basis(x, y, jnp))


@dataclass(frozen=True)
class Torus:
    """How warm a torus is at the time t that was u(x, y) warm at first."""

    alpha: float = pio.option(0.01, "diffusivity α")

    domain = pio.Domain(
        pio.Coordinate("x", periodic=True), pio.Coordinate("y", periodic=True), pio.Coordinate("t")
    )
    inputs = Ripples()
    unknowns = ("s",)

    @property
    def grid(self):
        return {"x": np.linspace(0, 1, 17), "y": np.linspace(0, 1, 17), "t": np.linspace(0, 1, 9)}

    def residual(self, s_t, s_xx, s_yy):
        return s_t - self.alpha * (s_xx + s_yy)

    def ansatz(self, n, t, u):
        return u + t * n

    def conditions(self):
        return (
            pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            pio.Condition("periodic_x", {"x": 0.0}, lambda s: s, versus={"x": 1.0}),
            pio.Condition("periodic_y", {"y": 0.0}, lambda s: s, versus={"y": 1.0}),
        )

    @property
    def references(self):
        return {"exact": pio.Reference(self._solve, "each wave decays alone")}

    def _solve(self, u, points, refine):
        del refine  # there is nothing to refine in a closed form
        x, y = np.meshgrid(points["x"], points["y"], indexing="ij")
        rate = self.alpha * (2 * np.pi) ** 2 * np.tile((WAVES**2).sum(1), 2)
        decay = np.exp(-np.multiply.outer(rate, points["t"]))
        waves = self.inputs.basis(x, y, np)
        return np.einsum("fk,xyk,kt->fxyt", u @ self.inputs.analysis, waves, decay)
