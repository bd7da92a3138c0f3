"""Korteweg–de Vries: s_t + s s_x + δ² s_xxx = 0 on a circle of length 2π, s(0, x) = u(x)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

import pio
from pio import Blocks, Choice, Condition, Coordinate, Domain, Law, Recipe, Reference, Tables
from pio_plugins.published import KDV

Points = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class KdV:
    """A wave that steepens until dispersion breaks it into solitons.

    u = a cos x + b sin x with standard normal a and b. Waves of large amplitude √(a² + b²) are the
    hard ones: the amplitude exceeds 2 for 13.5 % of all u, and those break up well before t = 1.
    """

    delta: float = pio.option(0.1, "dispersion δ")
    sensors: int = pio.option(129, "places where u is known, both ends included")
    modes: int = pio.option(1, "harmonics in u")

    domain = Domain(Coordinate("x", 0.0, 2 * math.pi, periodic=True), Coordinate("t"))
    unknowns = ("s",)
    studies = KDV

    def __post_init__(self) -> None:
        if not self.delta > 0:
            raise pio.PioError(f"kdv needs a dispersion δ > 0 (got delta = {self.delta}).")
        _ = self.inputs  # complain of impossible options at once

    @cached_property
    def inputs(self) -> pio.PeriodicField:
        return pio.PeriodicField(self.domain["x"], self.sensors, (1.0,) * self.modes)

    @property
    def grid(self) -> Points:
        return {"x": np.linspace(0.0, 2 * math.pi, 129), "t": np.linspace(0.0, 1.0, 101)}

    def residual(self, s: Any, s_t: Any, s_x: Any, s_xxx: Any) -> Any:
        return s_t + s * s_x + self.delta**2 * s_xxx

    def ansatz(self, n: Any, t: Any, u: Any, A: Any) -> Any:
        # A wave of amplitude A changes at the rate A² until its breaking time 1/A, and then by about A.
        return u + A**2 * t / (1 + A * t) * n

    @property
    def features(self) -> Mapping[str, pio.Feature]:
        """The amplitude A of u, and time in units of the breaking time 1/A."""
        return {
            "A": pio.Feature(("f",), lambda u, p: _amplitude(u), "amplitude of u"),
            "At": pio.Feature(
                ("f", "t"),
                lambda u, p: _amplitude(u) * p["t"][..., None],
                "time over breaking time",
            ),
        }

    def conditions(self) -> tuple[Condition, ...]:
        left, right = {"x": 0.0}, {"x": 2 * math.pi}
        return (
            Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            Condition("periodic", left, lambda s: s, versus=right),
            Condition("periodic_x", left, lambda s_x: s_x, versus=right),
            Condition("periodic_xx", left, lambda s_xx: s_xx, versus=right),
        )

    @property
    def presets(self) -> Mapping[str, Recipe]:
        paper = Recipe(
            steps=200_000,
            sampling=Tables(
                batch=16_384,
                residual={"x": 257, "t": 101},
                conditions={"initial": 257},
                placement={"x": "grid", "t": "grid", "initial": "grid"},
            ),
            architecture={"width": 128, "depth": 6},
            embedding=Choice("fourier", {"order": 12}),
            weighting=Choice("ck"),
            optimizer=Choice("adamw", {"learning_rate": 1e-3}),
            constraints="soft",
            precision=64,
            train_functions=500,
            test_functions=100,
        )
        fast = Recipe(
            steps=15_000,
            sampling=Blocks(32, {"x": 16, "t": 8}, stretch=1.5),
            architecture={"width": 64, "depth": 5, "also": ("At",)},
            embedding=Choice("fourier", {"order": 12}),
            weighting=Choice("relative", {"floor": 0.05, "causality": 1e3}),
            centred=True,
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
        laws = {
            "mass": Law(lambda s, p: _integral(s, p) / _norm(s, p), tolerance=1e-9),
            "momentum": Law(lambda s, p: _integral(s**2, p) / _norm(s, p) ** 2, tolerance=1e-5),
        }
        summary = "Fourier modes with exponential time differencing of fourth order"
        return {"spectral": Reference(self._solve, summary, 4.0, 1e-4, laws)}

    def _solve(self, u: np.ndarray, points: Points, refine: int) -> np.ndarray:
        # u of amplitude A sheds solitons of height 3c with c ≈ A, whose modes fall off as
        # exp(−πδk/√c). The modes kept, a third of the cells, end where that is 1e-7 or less.
        least = np.maximum(16 * np.sqrt(np.abs(u).max(1)) / self.delta, 3 * self.modes + 1)
        cells = 2 ** np.ceil(np.log2(np.maximum(least, 128))).astype(int)
        return pio.etdrk4(
            lambda x: pio.read(self.inputs, u, x),
            points,
            self.domain["x"],
            symbol=lambda k: 1j * self.delta**2 * k**3,
            flux=lambda s: s**2 / 2,
            cells=cells * refine,
            steps=4 * cells * refine,
        )


def _amplitude(u: Any) -> Any:
    return jnp.sqrt(
        2 * jnp.mean(u[..., :-1] ** 2, -1, keepdims=True)
    )  # the last sensor repeats the first


def _integral(s: np.ndarray, points: Points) -> np.ndarray:
    return np.asarray(np.trapezoid(s, points["x"], axis=1))


def _norm(s: np.ndarray, points: Points) -> np.ndarray:
    """The L2 norm at the first time."""
    return np.asarray(np.sqrt(_integral(s[:, :, :1] ** 2, points)))
