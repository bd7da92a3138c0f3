"""Weightings with one thing wrong are caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from tests.core.caught import REGISTRY, assert_caught, result

import pio
import pio.testing


@dataclass(frozen=True)
class Weights:
    """A weighting with one thing wrong."""

    mode: str = pio.option("sound", "what is wrong")

    @property
    def needs(self):
        return frozenset(
            {"norm"} if self.mode == "misspelt" else {"norms"} if self.mode == "idle" else ()
        )

    def init(self, rows):
        return {"count": 0 if self.mode == "bare" else jnp.zeros((), jnp.int32)}

    def update(self, state, residuals, **given):
        def weight(name, r):
            one = jnp.ones((1,) * r.ndim, r.dtype)
            return {
                "negative": lambda: -one,
                "fragile": lambda: one / jnp.sqrt(jnp.mean(r**2)),
                "hungry": lambda: 1 / (1 + jnp.abs(given["kernels"][name])),
                "curious": lambda: 1 / (1 + jnp.minimum(jnp.nan_to_num(r**2), 1)),
                "scalar": lambda: jnp.ones((), r.dtype),
                "random": lambda: one * np.random.default_rng().uniform(1.0, 2.0),
            }.get(self.mode, lambda: one)()

        count = state["count"] + 1
        after = {"count": count.astype(float) if self.mode == "drifting" else count}
        return {name: weight(name, r) for name, r in residuals.items()}, after


def test_a_sound_weighting_passes_every_check():
    found = list(pio.testing.suite("weighting", Weights, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found


@pytest.mark.parametrize(
    ("mode", "check", "what", "mend"),
    [
        ("negative", "weights", "a weight of -1 when residuals are ordinary", "positive"),
        ("fragile", "weights", "a weight of (inf|nan) when residuals are all zero", "from below"),
        ("scalar", "weights", r"weights of shape \(\) for residuals of shape \(3, 2, 1\)", "axes"),
        ("bare", "state", "returns 0, which is no array", "asarray"),
        ("drifting", "state", r"changes from .*int32.* to .*float", "dtype"),
        ("hungry", "needs", r"depend on kernels, which its needs \(none\)", "'ck' or 'ntk'"),
        ("curious", "needs", "depend on residuals", "'residuals'"),
        ("misspelt", "needs", "needs norm, which no loss gives", "norms"),
        ("random", "pure", "other weights at a second call", "random"),
    ],
)
def test_weightings_that_are_odd_are_caught(mode, check, what, mend):
    assert_caught("weighting", partial(Weights, mode), check, what, mend)


def test_a_need_that_is_not_used_is_advice():
    found = result("weighting", partial(Weights, "idle"), "needs")
    assert (found.state, found.what) == (
        "advice",
        "Weights declares that it needs norms, but its weights do not depend on it.",
    )
