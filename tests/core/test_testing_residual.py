"""A residual that is not what the solver solves is caught, and explained."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from tests.core.caught import assert_caught, result
from tests.core.heat import Heat

import pio


class WrongSign(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t + self.alpha * s_xx - self.growth * s


class MissingTerm(Heat):
    def residual(self, s_t, s_xx):
        return s_t - self.alpha * s_xx


class WrongOrder(Heat):
    def residual(self, s, s_t, s_x):
        return s_t - self.alpha * s_x - self.growth * s


class WrongFactor(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - 2.5 * self.alpha * s_xx - self.growth * s


class TermTooMany(Heat):
    def residual(self, s, s_t, s_x, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s + np.abs(s_x) ** 1.5


class Garbled(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t * np.cos(20 * s) - self.alpha * s_xx - self.growth * s


class Nothing(Heat):
    def residual(self, s_t):
        return 0 * s_t


class Constant(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s + 0.004


class Logistic(Heat):
    """s_t + s_x / 2 = s (1 − s), which is solved by formula."""

    sign: ClassVar[float] = 1.0

    def residual(self, s, s_t, s_x):
        return s_t + s_x / 2 - self.sign * s * (1 - s)

    def _solve(self, u, points, refine):
        start = points["x"][:, None] - points["t"] / 2
        first = 0.5 + 0.2 * np.tanh(pio.read(self.inputs, u, start.ravel()))
        first = first.reshape(-1, *start.shape)
        grown = first * np.exp(points["t"])
        return grown / (1 - first + grown)


class Withering(Logistic):
    sign: ClassVar[float] = -1.0


class Hurried(Logistic):
    sign: ClassVar[float] = 3.0


@pytest.mark.parametrize(
    ("broken", "what", "mend"),
    [
        (WrongSign, r"WrongSign\.residual leaves .* s_xx 0\.\d+", "with the other sign of s_xx it"),
        (MissingTerm, "of its largest term", r"with −0\.1 s added it would vanish"),
        (WrongOrder, "reference 'modes'", "with s_xx in place of s_x it would vanish"),
        (WrongFactor, "of its largest term", "with 0.4 times s_xx it would vanish"),
        (TermTooMany, "of its largest term", "without s_x it would vanish"),
        (Constant, "of its largest term", r"without 0\.004 it would vanish"),
        (Withering, "of its largest term", r"with −s \+ s² in place of s − s² it would vanish"),
        (Hurried, "of its largest term", r"with −s \+ s² in place of −3 s \+ 3 s² it would vanish"),
        (Garbled, "refined 1, 2 and 4 times", "compare the signs, factors and orders"),
        (Nothing, "the same whatever the fields are", "all on one side"),
    ],
)
def test_a_residual_that_is_not_the_solvers_is_caught_and_explained(broken, what, mend):
    assert_caught("equation", broken, "residual", what, mend)


class Pair(Heat):
    unknowns: ClassVar[Any] = ("p", "q")

    def residual(self, p, p_t, p_xx, q_t):
        return {"slow": p_t - self.alpha * p_xx - self.growth * p, "fast": q_t - p}

    def _solve(self, u, points, refine):
        s = super()._solve(u, points, refine)
        return {"p": s, "q": s}


def test_the_residual_of_a_system_is_called_by_its_name():
    assert_caught("equation", Pair, "residual", r"Pair\.residual\['fast'\] leaves")


def test_a_sound_nonlinear_residual_passes():
    assert result("equation", Logistic, "residual").state == "passed"
