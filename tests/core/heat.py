"""A sound equation, to break in one place at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

import pio
import pio.testing

CIRCLE = pio.Domain(pio.Coordinate("x", periodic=True), pio.Coordinate("t"))


@dataclass(frozen=True)
class Heat:
    """s_t = α s_xx + c s on a circle, s(0, x) = u(x)."""

    alpha: float = pio.option(0.01, "diffusivity α")
    growth: float = pio.option(0.1, "rate of growth c")

    domain: ClassVar[Any] = CIRCLE
    unknowns: ClassVar[Any] = ("s",)

    @cached_property
    def inputs(self) -> Any:
        return pio.PeriodicField(
            self.domain["x"], 24, pio.power_law(4, scale=100.0, tau=3.0, gamma=4.0)
        )

    @property
    def grid(self) -> Any:
        return {"x": np.linspace(0, 1, 17), "t": np.linspace(0, 1, 9)}

    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s

    def ansatz(self, n, t, u):
        return u + t * n

    def conditions(self):
        sides = {"x": 0.0}, {"x": 1.0}
        return (
            pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            pio.Condition("periodic", sides[0], lambda s: s, versus=sides[1]),
            pio.Condition("periodic_x", sides[0], lambda s_x: s_x, versus=sides[1]),
        )

    @property
    def references(self) -> Mapping[str, pio.Reference]:
        return {"modes": pio.Reference(self._solve, "Fourier modes", order=2.0, accuracy=1e-3)}

    def _solve(self, u, points, refine):
        # Each mode decays exactly; growth is added in steps of second order.
        k = 2 * np.pi * np.arange(13)
        x = np.arange(26) / 26
        modes = np.fft.rfft(pio.read(self.inputs, u, x))[:, :13] / 26
        modes[:, 1:] *= 2
        n = 8 * refine
        grown = (1 + self.growth / n + (self.growth / n) ** 2 / 2) ** (n * points["t"])
        decay = np.exp(-self.alpha * k[:, None] ** 2 * points["t"]) * grown
        waves = np.exp(1j * np.outer(points["x"], k))
        return np.einsum("xk,fk,kt->fxt", waves, modes, decay).real
