"""Fisher–KPP: s_t = D s_xx + r s (1 − s) on [0, 1], no flux through the ends, s(0, x) = u(x)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.fft import dct, idct

import pio


@dataclass(frozen=True)
class Cosines:
    """u = ½ + 0.4 Σ a_k cos kπx / Σ |a_k|: between 0.1 and 0.9, flat at both ends."""

    modes: int = 4
    coordinates = ("x",)
    sensors = np.linspace(0, 1, 33)

    def sample(self, key, n):
        a = jax.random.normal(key, (n, self.modes))
        waves = np.cos(np.pi * np.arange(1, self.modes + 1)[:, None] * self.sensors)
        return 0.5 + 0.4 * (a / jnp.abs(a).sum(-1, keepdims=True)) @ jnp.asarray(waves, a.dtype)

    def at(self, u, x):
        k = np.arange(len(self.sensors))
        inverse = np.linalg.inv(np.cos(np.pi * k * self.sensors[:, None]))
        waves = jnp.cos(jnp.pi * jnp.asarray(k, x.dtype) * x[..., None])
        return pio.contract(u @ jnp.asarray(inverse.T, u.dtype), waves)


@dataclass(frozen=True)
class Fisher:
    """A population s that spreads, and grows until there are as many as the place can feed."""

    diffusion: float = pio.option(0.02, "diffusion D")
    rate: float = pio.option(3.0, "growth rate r")

    domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))
    unknowns = ("s",)
    inputs = Cosines()

    @property
    def grid(self):
        return {"x": np.linspace(0, 1, 65), "t": np.linspace(0, 1, 41)}

    @property
    def presets(self):
        return {"fast": pio.Recipe(embedding=pio.Choice("cosine"))}

    def residual(self, s, s_t, s_xx):
        return s_t - self.diffusion * s_xx - self.rate * s * (1 - s)

    def conditions(self):
        return (
            pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            pio.Condition("left", {"x": 0.0}, lambda s_x: s_x),
            pio.Condition("right", {"x": 1.0}, lambda s_x: s_x),
        )

    def ansatz(self, n, t, u):  # flat at the ends, since u is and, by the embedding, n
        return u + t * n

    def admit(self, u):
        if (u < 0).any():
            raise pio.PioError(f"a population is not negative (got u down to {u.min():.3g}).")

    @property
    def references(self):
        return {"splitting": pio.Reference(self._solve, "Strang, by cosines", order=2.0)}

    def _solve(self, u, points, refine):
        cells = 256 * refine
        x = np.linspace(0, 1, cells + 1)
        s, now, saved = pio.read(self.inputs, u, x), 0.0, []
        for time in points["t"]:
            steps = int(np.ceil((time - now) * 160 * refine - 1e-9))
            for _ in range(steps):
                dt = (time - now) / steps
                decay = np.exp(-self.diffusion * (np.pi * np.arange(cells + 1)) ** 2 * dt)
                s = self._grow(idct(decay * dct(self._grow(s, dt / 2), type=1), type=1), dt / 2)
            now = time
            saved.append(s)
        return pio.resample(np.stack(saved, -1), self.domain, (x, points["t"]), points)

    def _grow(self, s, dt):
        """s′ = r s (1 − s), solved exactly: s / (1 − s) grows like exp(r t)."""
        grown = np.exp(self.rate * dt)
        return s * grown / (1 + s * (grown - 1))
