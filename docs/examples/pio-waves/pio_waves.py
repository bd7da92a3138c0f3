"""Sound in a ring-shaped tube: p_t + c v_x = 0, v_t + c p_x = 0, p(0, x) = u(x), v(0, x) = 0."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import pio


@dataclass(frozen=True)
class Sound:
    """Pressure p and velocity v of a gas: the wave equation as a system of first order."""

    speed: float = pio.option(0.5, "speed of sound c")

    domain = pio.Domain(pio.Coordinate("x", periodic=True), pio.Coordinate("t"))
    unknowns = ("p", "v")

    @cached_property
    def inputs(self):
        return pio.PeriodicField(self.domain["x"], 65, deviations=(1.0, 0.5, 0.25))

    @property
    def grid(self):
        return {"x": np.linspace(0, 1, 65), "t": np.linspace(0, 1, 33)}

    def residual(self, p_t, p_x, v_t, v_x):
        return {"mass": p_t + self.speed * v_x, "momentum": v_t + self.speed * p_x}

    def ansatz(self, n, t, u):
        return u + t * n[0], t * n[1]

    def conditions(self):
        return (
            pio.Condition("pressure", {"t": 0.0}, lambda p, u: p - u),
            pio.Condition("rest", {"t": 0.0}, lambda v: v),
            pio.Condition("periodic_p", {"x": 0.0}, lambda p: p, versus={"x": 1.0}),
            pio.Condition("periodic_v", {"x": 0.0}, lambda v: v, versus={"x": 1.0}),
        )

    @property
    def references(self):
        return {"exact": pio.Reference(self._solve, "d'Alembert: two waves")}

    def _solve(self, u, points, refine):
        del refine  # there is nothing to refine in a closed form
        x, t = np.meshgrid(points["x"], points["t"], indexing="ij")
        right, left = (
            pio.read(self.inputs, u, (x + sign * self.speed * t).ravel()).reshape(-1, *x.shape)
            for sign in (-1, 1)
        )
        return {"p": (right + left) / 2, "v": (right - left) / 2}


@pio.hookimpl
def pio_equations():
    return {"sound": pio.Spec("pio_waves:Sound", "p_t + c v_x = 0, v_t + c p_x = 0, periodic")}
