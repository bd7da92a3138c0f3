"""Equations with one thing wrong are caught by the check meant for it; a sound one passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.core.caught import REGISTRY, assert_caught, result
from tests.core.heat import Heat

import pio
import pio.testing


def test_a_sound_equation_passes_every_check():
    found = list(pio.testing.suite("equation", Heat, registry=REGISTRY).results())
    bad = [r for r in found if r.state not in ("passed", "skipped")]
    # Without our plugins there is no optimizer for the plain presets to name.
    assert [r.check for r in bad] == ["saved"], bad
    assert {r.check for r in found if r.state == "skipped"} == {
        "registration",
        "features",
        "presets",
        "laws",
    }


class Off(Heat):
    def conditions(self):
        return (pio.Condition("initial", {"t": 0.0}, lambda s, u: s + u),)


def test_a_condition_that_the_reference_misses_is_caught():
    assert_caught("equation", Off, "conditions", "misses condition 'initial' by .*, at t = 0")


class Loose(Heat):
    def ansatz(self, n, t, u):
        return u + (t + 0.1) * n


class Tilted(Heat):
    def ansatz(self, n, x, t, u):
        return u + t * (x * n)


def test_an_ansatz_that_misses_a_condition_is_caught():
    assert_caught("equation", Loose, "ansatz", r"Loose\.ansatz misses condition 'initial' at t = 0")
    assert_caught("equation", Tilted, "ansatz", "misses condition 'periodic' at x = 0")


class Steep(Heat):
    def conditions(self):
        return (pio.Condition("flux", {"x": 0.0}, lambda s_x: s_x),)


def test_an_ansatz_is_not_to_meet_a_flux_by_a_factor_that_vanishes():
    assert_caught("equation", Steep, "ansatz", "misses condition 'flux'", "^for a condition on s_x")


class Pinned(Heat):
    def ansatz(self, n, x, t, u):
        return u + t * jnp.sin(jnp.pi * x) ** 2 * n


class Flat(Pinned):
    def conditions(self):
        return (*super().conditions(), pio.Condition("flux", {"x": 0.0}, lambda s_x: 0 * s_x))


def test_an_ansatz_that_leaves_the_network_no_say_is_caught():
    what = (
        "at x = [01] the ansatz of .* the reference is .* away: it leaves the network no say there"
    )
    assert_caught("equation", Pinned, "freedom", what, "only where conditions say what s is")
    assert_caught("equation", Flat, "freedom", what, "condition on s_x, leave the ansatz out")


class Orphan(Heat):
    def conditions(self):
        return ()

    def ansatz(self, n):
        return n


class Endless(Heat):
    domain: ClassVar[Any] = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))
    inputs: ClassVar[Any] = pio.GaussianField(domain["x"], 16, 0.5)

    def conditions(self):
        return (pio.Condition("left", {"x": 0.0}, lambda s, u: s - u),)


def test_a_problem_that_is_not_posed_is_caught():
    assert_caught("equation", Orphan, "posed", "nothing of the problem depends on u", "lambda s, u")
    found = result("equation", Endless, "posed")
    assert (found.state, found.what) == (
        "advice",
        "s is differentiated twice by x, which is not periodic, but conditions on it are at x = 0 alone; "
        "s is differentiated once by t, but it has no condition at t = 0.",
    )


class Misspelt(Heat):
    def residual(self, s_t, s_yy):
        return s_t - s_yy


class Inside(Heat):
    def conditions(self):
        return (pio.Condition("initial", {"t": 0.5}, lambda s, u: s - u),)


def test_fields_and_faces_that_there_are_not_are_caught():
    assert_caught("equation", Misspelt, "fields", "asks for 's_yy'", "one letter per derivative")
    assert_caught("equation", Inside, "fields", "at t = 0.5, but t runs from 0 to 1", "at the ends")


class Averaging(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * jnp.mean(s)


class Indexing(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s[:, 0, 0]


class Fixed(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - np.linspace(0, 1, 17) * s


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Averaging, "depends on the others"),
        (Indexing, r"Indexing\.residual has shape \(9, 1, 9\) at a pairs batch"),
        (Fixed, r"Fixed\.residual raised ValueError.* with fields of shapes s \(3, 2, 3\)"),
    ],
)
def test_a_residual_that_does_not_broadcast_is_caught(broken, what):
    assert_caught("equation", broken, "broadcasts", what, "arithmetic that broadcasts")


class Dishonest(Heat):
    axes: ClassVar[Any] = ("f",)

    @property
    def features(self):
        return {"u t": pio.Feature(self.axes, lambda u, p: u[..., :1] * p["t"][..., None])}


class Wasteful(Dishonest):
    axes: ClassVar[Any] = ("f", "x", "t")


def test_dishonest_features_are_caught():
    assert_caught(
        "equation", Dishonest, "features", r"declares the axes \('f',\), but varies along t"
    )
    assert_caught(
        "equation", Wasteful, "features", "does not vary along x", r"Feature\(\('f', 't'\)"
    )


class Doubled(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - np.float64(self.alpha) * jnp.asarray(s_xx, jnp.float64)


class Deaf(Heat):
    def residual(self, s_t, s_xx):
        return jax.lax.stop_gradient(s_t - self.alpha * s_xx)

    def conditions(self):
        return ()


def test_a_loss_that_cannot_be_learned_from_is_caught():
    assert_caught("equation", Deaf, "trains", "five steps of Adam .* do not decrease the loss")


def test_a_number_that_changes_its_type_is_caught():
    with jax.numpy_dtype_promotion("standard"):
        assert_caught("equation", Doubled, "precision", "residual .*is float64 where", "x.dtype")


class List(Heat):
    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


class Silent(Heat):
    def residual(self, s_t):
        s_t - 1


class Comma(Heat):
    def residual(self, s_t, s_xx):
        return (s_t - self.alpha * s_xx,)


class Branching(Heat):
    def residual(self, s, s_t):
        return s_t if s > 1 else s


class Numeric(Heat):
    def residual(self, s, s_t):
        return s_t - np.asarray(s)


class Mistaken(Heat):
    def residual(self, s_t):
        return s_t - self.rat


@pytest.mark.parametrize(
    ("broken", "what", "mend"),
    [
        (Silent, r"Silent\.residual returned None; is a `return` missing\?", "all on one side"),
        (Comma, "returned a tuple; one unknown returns an array", "comma"),
        (Branching, "raised ValueError: The truth value", r"use jnp\.where"),
        (Numeric, "raised TracerArrayConversionError", r"use jax\.numpy"),
        (Mistaken, r"AttributeError: .*equation\.py, line \d+\)\.", "^look at that line.$"),
    ],
)
def test_a_residual_that_raises_or_returns_nothing_gets_the_mend_for_that(broken, what, mend):
    assert_caught("equation", broken, "broadcasts", what, mend)


class Elsewhere(Heat):
    def conditions(self):
        return (pio.Condition("left", {"y": 0.0}, lambda s: s),)


class Capital(Heat):
    def ansatz(self, n, T, u):
        return u + T * n


class Pair(Heat):
    unknowns: ClassVar[Any] = ("p", "q")

    def ansatz(self, n, t, u):
        return u + t * n


def test_what_conditions_and_ansatz_ask_for_and_is_not_there_is_named():
    what = "'left' of Elsewhere is at y = 0, but the coordinates are x, t"
    assert_caught("equation", Elsewhere, "fields", what, "at an end of one of these")
    what = r"Capital\.ansatz asks for 'T'; did you mean 't'\?"
    assert_caught("equation", Capital, "fields", what, "some of n, x, t, u")
    what = r"Pair\.ansatz raised TypeError"
    assert_caught(
        "equation", Pair, "broadcasts", what, r"with 2 unknowns n is a tuple, n\[0\], n\[1\]"
    )


@dataclass(frozen=True)
class Odd(Heat):
    table: Any = 1j


def test_options_that_no_config_can_hold_are_caught():
    assert_caught(
        "equation", List, "options", "made with the same options are not equal", "dataclass"
    )
    assert_caught("equation", Odd, "options", "cannot hold table", "numbers, text")


class Presets(Heat):
    @property
    def presets(self):
        plain = pio.testing._plain.Problem().presets["fast"]
        return {
            "fast": plain,
            "odd": plain.__class__(**{**vars(plain), "embedding": pio.Choice("bear")}),
        }


def test_a_preset_that_names_what_there_is_not_is_caught():
    assert_caught(
        "equation", Presets, "presets", "preset 'odd' of Presets .* no embedding named 'bear'"
    )
