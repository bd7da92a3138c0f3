"""Advection: s_t + u(x) s_x = 0, s(0, x) = sin πx, s(t, 0) = sin πt/2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicHermiteSpline

import pio
from pio import Blocks, Choice, Condition, Coordinate, Domain, Law, Recipe, Reference, Tables
from pio_plugins.published import ADVECTION

Points = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Advection:
    """A profile, and what enters after it, carried to the right by a velocity u(x) of at least one.

    u = v − min v + 1, where v is a Gaussian random field. Where the profile meets what entered, s
    has a kink: along the curve on which the travel time ∫₀ˣ dξ/u is t.
    """

    length_scale: float = pio.option(0.2, "correlation length of the velocity")
    sensors: int = pio.option(101, "places where u is known, both ends included")

    domain = Domain(Coordinate("x"), Coordinate("t"))
    unknowns = ("s",)
    studies = ADVECTION

    def __post_init__(self) -> None:
        _ = self.inputs  # complain of impossible options at once

    @cached_property
    def inputs(self) -> pio.Lifted:
        return pio.Lifted(pio.GaussianField(self.domain["x"], self.sensors, self.length_scale))

    @property
    def grid(self) -> Points:
        return {"x": np.linspace(0.0, 1.0, 101), "t": np.linspace(0.0, 1.0, 101)}

    def admit(self, u: np.ndarray) -> None:
        lowest = pio.read(self.inputs, u, np.linspace(0.0, 1.0, 512)).min(1)
        if (lowest <= 0).any():
            raise pio.PioError(
                f"advection needs a velocity u > 0 everywhere, but function {lowest.argmin()} "
                f"falls to {lowest.min():.3g}; s is given at x = 0, so all must move to the right."
            )

    def residual(self, s_t: Any, s_x: Any, u: Any) -> Any:
        return s_t + u * s_x

    def ansatz(self, n: Any, t: Any, x: Any) -> Any:
        return _profile(x) + _inflow(t) + x * t * n  # both vanish where the two faces meet

    @property
    def features(self) -> Mapping[str, pio.Feature]:
        """What the solution depends on: the travel time τ = ∫₀ˣ dξ/u, and its distance from t."""
        return {
            "τ": pio.Feature(
                ("f", "x"),
                lambda u, p: self._travel(u, p["x"])[..., None],
                "travel time from 0 to x",
            ),
            "|τ-t|": pio.Feature(
                ("f", "x", "t"),
                lambda u, p: jnp.abs(self._travel(u, p["x"]) - p["t"])[..., None],
                "its distance from t, which has the kink that s has",
            ),
        }

    def _travel(self, u: Any, x: Any) -> Any:
        """τ(x): 1/u as a Chebyshev series, integrated term by term."""
        nodes, integrate = _antiderivative(64)
        slowness = 1 / self.inputs.at(u[..., None, :], jnp.asarray(nodes, u.dtype))
        return pio.contract(
            slowness @ jnp.asarray(integrate, u.dtype), pio.chebyshev(2 * x - 1, len(nodes) + 1)
        )

    def conditions(self) -> tuple[Condition, ...]:
        return (
            Condition("initial", {"t": 0.0}, lambda s, x: s - _profile(x)),
            Condition("boundary", {"x": 0.0}, lambda s, t: s - _inflow(t)),
        )

    @property
    def presets(self) -> Mapping[str, Recipe]:
        paper = Recipe(
            steps=300_000,
            sampling=Tables(
                batch=10_000,
                residual=2500,
                conditions={"initial": 101, "boundary": 101},
                placement={"initial": "grid"},
            ),
            architecture={"width": 100, "depth": 6},
            embedding=Choice("none"),
            weighting=Choice("brdr"),
            optimizer=Choice("adamw", {"learning_rate": 1e-3}),
            constraints="soft",
            precision=64,
            train_functions=1000,
            test_functions=100,
        )
        fast = Recipe(
            steps=20_000,
            sampling=Blocks(16, {"x": 16, "t": 16}),
            architecture={"width": 64, "depth": 5, "also": ("τ", "|τ-t|")},
            embedding=Choice("none"),
            weighting=Choice("fixed"),
            optimizer=Choice("soap", {"learning_rate": 3e-3}),
            constraints="hard",
            precision=32,
            train_functions=None,
            test_functions=100,
        )
        smoke = replace(
            fast,
            steps=20,
            sampling=Blocks(4, {"x": 8, "t": 8}),
            architecture={"width": 16, "depth": 2},
            test_functions=4,
        )
        return {"paper": paper, "fast": fast, "smoke": smoke}

    @property
    def references(self) -> Mapping[str, Reference]:
        laws = {"maximum principle": Law(_excess, "zero", 1e-12)}
        box = "box scheme on 101 × 101 points, against which articles measure"
        return {
            "exact": Reference(self._exact, "along characteristics", 4.0, 1e-6, laws),
            # Of second order where s is smooth, of first with the kink.
            "box": Reference(self._box, box, order=1.0, accuracy=3e-2),
        }

    def _exact(self, u: np.ndarray, points: Points, refine: int) -> np.ndarray:
        # With the travel time τ(x) = ∫₀ˣ dξ/u(ξ), s is constant where τ(x) − t is. Both τ and its
        # inverse have known slopes, 1/u and u, so cubics through their values are of fourth order.
        x = np.linspace(0.0, 1.0, 250 * refine + 1)
        h, (nodes, weights) = x[1], np.polynomial.legendre.leggauss(4)
        inside = (x[:-1, None] + h * (1 + nodes) / 2).ravel()
        panels = (1 / pio.read(self.inputs, u, inside)).reshape(len(u), -1, 4) @ weights * h / 2
        tau = np.pad(np.cumsum(panels, 1), ((0, 0), (1, 0)))
        velocity = pio.read(self.inputs, u, x)
        arrival = CubicHermiteSpline(x, tau, 1 / velocity, axis=1)(points["x"])
        since = arrival[:, :, None] - points["t"]  # (f, x, t)
        start = [
            CubicHermiteSpline(*knots)(np.maximum(at, 0.0))
            for *knots, at in zip(tau, np.broadcast_to(x, tau.shape), velocity, since, strict=True)
        ]
        return np.where(since > 0, np.sin(np.pi * np.stack(start)), np.sin(-np.pi / 2 * since))

    def _box(self, u: np.ndarray, points: Points, refine: int) -> np.ndarray:
        # s_{j+1}^{n+1} = s_j^n + κ_j (s_{j+1}^n − s_j^{n+1}), centred in each cell of the grid.
        n = 100 * refine
        x = t = np.linspace(0.0, 1.0, n + 1)
        velocity = pio.read(self.inputs, u, x)
        a = (velocity[:, 1:] + velocity[:, :-1]) / 2
        kappa = (1 - a) / (1 + a)
        s = np.empty((n + 1, len(u), n + 1))  # (x, f, t): sweep along x, each column along t
        s[0] = np.sin(np.pi / 2 * t)
        for j in range(n):
            s[j + 1, :, 0] = np.sin(np.pi * x[j + 1])
            for i in range(n):
                s[j + 1, :, i + 1] = s[j, :, i] + kappa[:, j] * (s[j + 1, :, i] - s[j, :, i + 1])
        return pio.resample(s.transpose(1, 0, 2), self.domain, (x, t), points)


@cache
def _antiderivative(terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in [0, 1], and the matrix from values there to the Chebyshev coefficients of ∫₀ˣ."""
    series = np.polynomial.chebyshev
    y = series.chebpts1(terms)
    values = np.linalg.inv(series.chebvander(y, terms - 1)).T
    return (y + 1) / 2, np.array([series.chebint(row, lbnd=-1, scl=0.5) for row in values])


def _profile(x: Any) -> Any:
    return jnp.sin(jnp.pi * x)


def _inflow(t: Any) -> Any:
    return jnp.sin(jnp.pi / 2 * t)


def _excess(s: np.ndarray, points: Points) -> np.ndarray:
    """By how much s leaves [0, 1], where the profile and the inflow lie."""
    del points
    return np.asarray(np.maximum(-s, s - 1).max(1).clip(0.0))
