"""Optimizers with one thing wrong are caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import optax
import pytest
from tests.core.caught import REGISTRY, assert_caught

import pio
import pio.testing


@dataclass(frozen=True)
class Steps:
    """An optimizer with one thing wrong."""

    mode: str = pio.option("sound", "what is wrong")

    def transform(self, steps):
        if self.mode == "nothing":
            return None
        scale = {"upwards": 0.01, "wild": -1e3}.get(self.mode, -0.01)
        return pio.clipped(optax.scale(scale))

    def rate(self, step, steps):
        return jnp.asarray(-0.01 if self.mode == "rate" else 0.01)


def test_a_sound_optimizer_passes_every_check():
    found = list(pio.testing.suite("optimizer", Steps, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found


@pytest.mark.parametrize(
    ("mode", "check", "what"),
    [
        ("nothing", "transformation", r"Steps\.transform returns NoneType"),
        ("upwards", "descends", r"Steps takes a quadratic from .* to"),
        ("wild", "descends", "leaves the numbers after .* steps|takes a quadratic"),
        ("rate", "rate", r"Steps\.rate is -0\.01"),
    ],
)
def test_optimizers_that_are_odd_are_caught(mode, check, what):
    assert_caught("optimizer", partial(Steps, mode), check, what)
