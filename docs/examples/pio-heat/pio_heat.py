"""Heat on a ring: s_t = α s_xx on a circle of length 1, s(0, x) = u(x)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import pio


@dataclass(frozen=True)
class Heat:
    """How warm a ring is at the time t that was u(x) warm at first."""

    alpha: float = pio.option(0.01, "diffusivity α")

    domain = pio.Domain(pio.Coordinate("x", periodic=True), pio.Coordinate("t"))
    unknowns = ("s",)

    @cached_property
    def inputs(self):
        return pio.PeriodicField(self.domain["x"], 65, deviations=(1.0, 0.5, 0.25, 0.125))

    @property
    def grid(self):
        return {"x": np.linspace(0, 1, 65), "t": np.linspace(0, 1, 33)}

    def residual(self, s_t, s_xx):
        return s_t - self.alpha * s_xx

    def ansatz(self, n, t, u):
        return u + t * n

    def conditions(self):
        return (
            pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            pio.Condition("periodic", {"x": 0.0}, lambda s: s, versus={"x": 1.0}),
        )

    @property
    def references(self):
        return {"exact": pio.Reference(self._solve, "each harmonic decays alone")}

    def _solve(self, u, points, refine):
        cells = 128 * refine
        harmonics = np.fft.rfft(pio.read(self.inputs, u, np.arange(cells) / cells)) / cells
        k = 2 * np.pi * np.arange(1, cells // 2)
        decay = np.exp(-self.alpha * np.multiply.outer(k**2, points["t"]))
        waves = np.exp(1j * np.multiply.outer(points["x"], k))
        s = 2 * np.einsum("fk,xk,kt->fxt", harmonics[:, 1:-1], waves, decay).real
        return s + harmonics[:, :1, None].real


@pio.hookimpl
def pio_equations():
    return {"heat": pio.Spec("pio_heat:Heat", "s_t = α s_xx, periodic")}
