"""Diffusion–reaction: s_t = D s_xx + k s² + u(x), s = 0 at t = 0, at x = 0 and at x = 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import solve_banded

import pio
from pio import Blocks, Choice, Condition, Coordinate, Domain, Recipe, Reference, Tables
from pio_plugins.published import DIFFUSION_REACTION

Points = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class DiffusionReaction:
    """What a source u(x), switched on at t = 0, has brought forth by the time t.

    u is a Gaussian random field. It does not vanish at the ends, where s does, so s has layers of
    width √(Dt) there.
    """

    diffusion: float = pio.option(0.01, "diffusion D")
    reaction: float = pio.option(0.01, "reaction k")
    length_scale: float = pio.option(0.2, "correlation length of the source")
    sensors: int = pio.option(101, "places where u is known, both ends included")

    domain = Domain(Coordinate("x"), Coordinate("t"))
    unknowns = ("s",)
    studies = DIFFUSION_REACTION

    def __post_init__(self) -> None:
        if not self.diffusion > 0:
            raise pio.PioError(
                f"diffusion-reaction needs a diffusion D > 0 (got diffusion = {self.diffusion})."
            )
        _ = self.inputs  # complain of impossible options at once

    @cached_property
    def inputs(self) -> pio.GaussianField:
        return pio.GaussianField(self.domain["x"], self.sensors, self.length_scale)

    @property
    def grid(self) -> Points:
        return {"x": np.linspace(0.0, 1.0, 101), "t": np.linspace(0.0, 1.0, 101)}

    def residual(self, s: Any, s_t: Any, s_xx: Any, u: Any) -> Any:
        return s_t - self.diffusion * s_xx - self.reaction * s**2 - u

    def ansatz(self, n: Any, t: Any, x: Any) -> Any:
        return 4 * x * (1 - x) * t * n  # away from the ends s ≈ t u, so n ≈ u

    def conditions(self) -> tuple[Condition, ...]:
        return (
            Condition("initial", {"t": 0.0}, lambda s: s),
            Condition("left", {"x": 0.0}, lambda s: s),
            Condition("right", {"x": 1.0}, lambda s: s),
        )

    @property
    def presets(self) -> Mapping[str, Recipe]:
        paper = Recipe(
            steps=120_000,
            sampling=Tables(
                batch=10_000,
                residual=100,
                conditions={"initial": 101, "left": 101, "right": 101},
                placement={"x": "sensors", "initial": "grid"},
            ),
            architecture={"width": 50, "depth": 4},
            embedding=Choice("random-fourier", {"features": 150}),
            weighting=Choice("ck"),
            optimizer=Choice("adamw", {"learning_rate": 1e-3}),
            constraints="soft",
            precision=64,
            train_functions=10_000,
            test_functions=1000,
        )
        fast = Recipe(
            steps=20_000,
            sampling=Blocks(16, {"x": 16, "t": 16}),
            architecture={"width": 50, "depth": 4},
            embedding=Choice("random-fourier", {"features": 150}),
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
        scheme = "Crank–Nicolson with linearised reaction on {0} × {0} points"
        return {
            "fine": Reference(partial(self._solve, 800), scheme.format(801), order=2.0),
            "published": Reference(partial(self._solve, 100), scheme.format(101), 2.0, 1e-3),
        }

    def _solve(self, cells: int, u: np.ndarray, points: Points, refine: int) -> np.ndarray:
        # With g(s) = k s², each step solves, on the nodes between the ends,
        # [1/dt − D/2 δ² − g'(sⁿ)/2] sⁿ⁺¹ = [1/dt + D/2 δ² − g'(sⁿ)/2] sⁿ + g(sⁿ) + u,
        # where the terms in g on the right cancel, for g'(s) s = 2 g(s).
        n = cells * refine
        x = np.linspace(0.0, 1.0, n + 1)
        source = pio.read(self.inputs, u, x)
        half = self.diffusion / 2 * n**2
        # All functions form one tridiagonal system. Rows of end points are those of the identity,
        # so that nothing passes from one function to the next.
        inside = np.ones((len(u), n + 1))
        inside[:, [0, -1]] = 0.0
        bands = np.zeros((3, inside.size))
        bands[0, 1:] = -half * inside.ravel()[:-1]
        bands[2, :-1] = -half * inside.ravel()[1:]
        s, now, saved = np.zeros_like(source), 0.0, []
        for time in points["t"]:
            steps = int(np.ceil((time - now) * n - 1e-9))
            for _ in range(steps):
                rate = steps / (time - now)
                bands[1] = np.where(inside, rate + 2 * half - self.reaction * s, 1.0).ravel()
                right = (rate - 2 * half) * s + source
                right[:, 1:-1] += half * (s[:, 2:] + s[:, :-2])
                right *= inside
                s = solve_banded((1, 1), bands, right.ravel(), check_finite=False).reshape(s.shape)
            now = time
            saved.append(s)
        return pio.resample(np.stack(saved, -1), self.domain, (x, points["t"]), points)
