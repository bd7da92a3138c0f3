"""A residual that is not what the solver solves is caught, and explained."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.caught import assert_caught
from tests.core.heat import Heat


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


@pytest.mark.parametrize(
    ("broken", "what", "mend"),
    [
        (WrongSign, r"WrongSign\.residual leaves .* s_xx 0\.\d+", "with the other sign of s_xx it"),
        (MissingTerm, "of its largest term", r"with -0\.1 s added it would vanish"),
        (WrongOrder, "reference 'modes'", "with s_xx in place of s_x it would vanish"),
        (WrongFactor, "of its largest term", "with 0.4 times s_xx it would vanish"),
        (TermTooMany, "of its largest term", "without s_x it would vanish"),
        (Garbled, "refined 1, 2 and 4 times", "compare the signs, factors and orders"),
        (Nothing, "the same whatever the fields are", "all on one side"),
    ],
)
def test_a_residual_that_is_not_the_solvers_is_caught_and_explained(broken, what, mend):
    assert_caught("equation", broken, "residual", what, mend)
