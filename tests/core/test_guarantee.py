"""A condition is no term of the loss where it holds whatever the network computes, and only there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio
import pio.testing
from pio._guarantee import missed

REGISTRY = pio.discover()
LINE = pio.Domain(pio.Coordinate("x", -1.0, 2.0), pio.Coordinate("t"))


@dataclass(frozen=True)
class Flat:
    """Functions that are flat at both ends: u = a + b cos π(x + 1)/3."""

    coordinates: ClassVar[Any] = ("x",)
    sensors: ClassVar[Any] = np.array([-1.0, 2.0])

    def sample(self, key, n):
        return jax.random.normal(key, (n, 2))

    def at(self, u, x):
        share = (1 - jnp.cos((x + 1) * (np.pi / 3))) / 2
        return u[..., 0] * (1 - share) + u[..., 1] * share


@dataclass(frozen=True)
class Insulated:
    """s_t = s_xx without flux through the ends."""

    space: Any = Flat()

    domain: ClassVar[Any] = LINE
    unknowns: ClassVar[Any] = ("s",)
    grid: ClassVar[Any] = {"x": np.linspace(-1, 2, 5), "t": np.linspace(0, 1, 5)}
    references: ClassVar[Any] = {}

    @property
    def inputs(self):
        return self.space

    def residual(self, s_t, s_xx):
        return s_t - s_xx

    def conditions(self):
        return (
            pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            pio.Condition("left", {"x": -1.0}, lambda s_x: 1e-9 * s_x),
            pio.Condition("right", {"x": 2.0}, lambda s_x: s_x),
        )

    def ansatz(self, n, t, u):
        return u + t * n


def loss(embedding, hard=True, arch="vanilla", space=None):
    equation = Insulated() if space is None else Insulated(space)
    made = (REGISTRY.make("architecture", arch), REGISTRY.make("embedding", embedding))
    return pio.Loss(pio.Model(equation, *made, hard=hard), REGISTRY.make("weighting", "fixed"))


@pytest.mark.parametrize("arch", ["vanilla", "bx", "tl", "modified"])
def test_what_ansatz_and_embedding_meet_together_is_not_in_the_loss(arch):
    assert set(loss("cosine", arch=arch).terms) == {"residual"}
    assert set(loss("cosine", hard=False, arch=arch).terms) == {"residual", "initial"}


def test_what_the_ansatz_misses_stays_in_the_loss_however_small_its_residual():
    assert set(loss("none").terms) == {"residual", "left", "right"}
    assert set(loss("random-fourier").terms) == {"residual", "left", "right"}


def test_features_that_undo_a_guarantee_are_seen():
    # A trunk that reads u near x, or a u that is not flat, is not flat at the ends.
    assert set(loss("cosine", arch="tn").terms) == {"residual", "left", "right"}
    steep = pio.GaussianField(LINE["x"], 16, 1.0)
    assert {"left", "right"} <= set(loss("cosine", arch="tl", space=steep).terms)


def test_a_guarantee_is_found_while_a_step_is_traced_in_either_precision():
    def terms(x):
        return x + len(loss("cosine").terms)

    for bits in (True, False):
        missed.cache_clear()
        with jax.enable_x64(bits):
            assert jax.jit(terms)(jnp.zeros(())) == 1


def test_a_condition_that_is_not_a_number_is_not_met():
    class Torn(Insulated):
        def ansatz(self, n, t, u):
            return u + jnp.log(-1 - t) * n

    made = (REGISTRY.make("architecture", "vanilla"), REGISTRY.make("embedding", "none"))
    assert missed(pio.Model(Torn(), *made, hard=True))["initial"] == float("inf")


def test_conditions_that_are_soft_after_all_are_named():
    assert loss("cosine").note is None
    assert loss("none", hard=False).note is None
    assert loss("none").note == (
        "neither the ansatz nor the embedding meets condition 'left' and condition 'right' exactly; these are "
        "terms of the loss"
    )


def test_an_ansatz_is_checked_with_the_embedding_of_the_presets():
    class Cosines(Insulated):
        presets: ClassVar[Any] = {"fast": pio.Recipe(embedding=pio.Choice("cosine"))}

    ansatz = pio.testing.CHECKS["equation"]["ansatz"]
    pio.testing.suite("equation", Cosines, registry=REGISTRY).run(ansatz)
    with pytest.raises(pio.testing.Failure, match="misses condition 'left' at x = -1") as caught:
        pio.testing.suite("equation", Insulated, registry=REGISTRY).run(ansatz)
    assert "cosine for no flux" in str(caught.value)
