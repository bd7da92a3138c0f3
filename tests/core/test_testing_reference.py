"""References with one thing wrong are caught."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.caught import assert_caught, result
from tests.core.heat import Heat

import pio
import pio.testing


class Drifting(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, refine) + points["x"][:, None] * points["t"]


def test_a_reference_that_is_not_periodic_is_caught():
    assert_caught("equation", Drifting, "periodic", r"x = 0 and 1 differs", "with periodic ends")
    assert_caught("equation", Drifting, "conditions", "misses condition 'periodic'")


class Overstated(Heat):
    @property
    def references(self):
        return {"modes": pio.Reference(self._solve, "Fourier modes", order=4.0, accuracy=1e-3)}


class Crude(Heat):
    @property
    def references(self):
        return {"modes": pio.Reference(self._solve, "Fourier modes", order=2.0, accuracy=1e-12)}


def test_a_wrong_order_or_accuracy_is_caught():
    assert_caught("equation", Overstated, "order", r"declares order 4, but .* of order 2", "refine")
    assert_caught("equation", Crude, "accuracy", "declares an accuracy of 1e-12, but")


class Single(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, refine).astype(np.float32)


class Transposed(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, refine).transpose(0, 2, 1)


class Sharing(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u - u.mean(0), points, refine)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Single, "in float32"),
        (Transposed, r"of shape \(3, 9, 17\) on the grid, where \(f, x, t\) is \(3, 17, 9\)"),
        (Sharing, "among three functions than alone"),
    ],
)
def test_references_that_are_odd_are_caught(broken, what):
    assert_caught("equation", broken, "reference", what)


class Unrefined(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, 1)


class Stepping(Heat):
    """Steps from each time to the next, however it is refined; what is refined is the growth."""

    def _solve(self, u, points, refine):
        steps = np.diff(points["t"], prepend=0.0)
        slowly = np.cumprod(1 + 0.1 * steps + 0.004 * steps**2) / np.exp(0.1 * points["t"])
        return super()._solve(u, points, refine) * slowly


class Bound(Heat):
    """Its growth is refined, and its decay is as wrong as ever."""

    def _solve(self, u, points, refine):
        wrong = np.exp(2e-5 * points["t"] ** 2)
        return super()._solve(u, points, refine) * wrong


def test_what_is_not_refined_is_caught():
    assert_caught(
        "equation",
        Unrefined,
        "order",
        "refine = 2 and 4 give identical solutions of reference 'modes', yet the residual is .e-0.",
        "both the cells and the steps",
    )
    assert_caught(
        "equation", Stepping, "order", "asked at twice as many times, yet .* in time are not"
    )
    assert_caught("equation", Bound, "order", "refined 4 times, .*: something in it is not refined")


class Exact(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, 4096 * refine)

    @property
    def references(self):
        return {"exact": pio.Reference(self._solve, "each mode grows alone")}


class Inexact(Exact):
    _solve = Heat._solve


def test_exactness_has_to_be_earned():
    found = result("equation", Exact, "order")
    assert (found.state, found.what.split(":")[1]) == ("skipped", " the solutions are exact")
    assert_caught("equation", Inexact, "order", "declares no order, .* changes it by", "order=2")
