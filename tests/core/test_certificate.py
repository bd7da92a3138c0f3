"""A certificate tells a good solver from a bad one, for any equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
import pytest

import pio

SOUND = np.sqrt(2.0)


@dataclass(frozen=True)
class Plane:
    """u = c cos x cos y, known from one sensor at the origin."""

    coordinates = ("x", "y")
    sensors = np.zeros((1, 2))

    def sample(self, key, n):
        return 1.0 + jax.random.uniform(key, (n, 1))

    def at(self, u, x, y):
        return u[..., 0] * jax.numpy.cos(x) * jax.numpy.cos(y)


@dataclass(frozen=True)
class Waves:
    """p_t = q, q_t = p_xx + p_yy: two unknowns in two space coordinates, solved by an Euler step."""

    sign: float = 1.0
    claimed: float = 2.0

    domain = pio.Domain(*(pio.Coordinate(n) for n in "xyt"))
    inputs: Any = Plane()
    unknowns = ("p", "q")
    grid: ClassVar = {n: np.linspace(0, 1, 5) for n in "xyt"}

    def residual(self, p_t, q, q_t, p_xx, p_yy):
        return {"p": p_t - q, "q": q_t - self.sign * (p_xx + p_yy)}

    def conditions(self):
        return (pio.Condition("initial", {"t": 0.0}, lambda p, u: p - u),)

    @property
    def references(self):
        def energy(s, points):
            (p, q), places = (s["p"], s["q"]), np.cos(points["x"])[:, None] * np.cos(points["y"])
            c, d = p[:, 0, 0] / places[0, 0], q[:, 0, 0] / places[0, 0]
            return (c**2 + d**2 / 2) / c[:, :1] ** 2

        laws = {"energy": pio.Law(energy, tolerance=1e-3)}
        return {"midpoint": pio.Reference(self._solve, "a toy", self.claimed, 1e-3, laws)}

    def _solve(self, u, points, refine):
        steps = 200 * refine
        step = np.array([[1.0, 1 / steps], [-(SOUND**2) / steps, 1.0]])
        step = step + np.diag([-(SOUND**2), -(SOUND**2)]) / (2 * steps**2)
        at = [np.linalg.matrix_power(step, round(t * steps)) for t in points["t"]]
        shape = np.cos(points["x"])[:, None, None] * np.cos(points["y"])[:, None]
        return {n: u[:, :, None, None] * shape * [a[i, 0] for a in at] for i, n in enumerate("pq")}


def findings(equation):
    return {f.what: f for f in pio.certify(equation, functions=2).findings}


def test_a_system_in_the_plane_is_certified():
    assert isinstance(Waves(), pio.Equation)
    certificate = pio.certify(Waves(), functions=2)
    found = {f.what: f.value for f in certificate.findings}
    assert abs(found["order of convergence"] - 2) < 0.1
    assert found["error"] < 1e-4
    assert found["energy"] < 1e-4


def test_a_solver_of_another_equation_is_found_out():
    assert not findings(Waves(sign=-1.0))["residual"].holds


def test_a_claim_of_too_high_an_order_is_found_out():
    assert not findings(Waves(claimed=4.0))["order of convergence"].holds


def test_relative_errors_are_per_function():
    truth = np.ones((2, 3, 4))
    s = truth * np.array([1.5, 0.9])[:, None, None]
    np.testing.assert_allclose(pio.relative_errors(s, truth), [0.5, 0.1])


def test_a_certificate_needs_functions():
    with pytest.raises(pio.PioError, match="needs functions"):
        pio.certify(Waves(), functions=0)
