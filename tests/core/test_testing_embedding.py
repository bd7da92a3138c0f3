"""Embeddings with one thing wrong are caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
from tests.core.caught import REGISTRY, assert_caught

import pio
import pio.testing


@dataclass(frozen=True)
class Map:
    """An embedding with one thing wrong, for periodic coordinates alone unless it is the sound one."""

    mode: str = pio.option("sound", "what is wrong")

    def groups(self, domain):
        if self.mode == "names":
            return ("x",)
        if not domain.periodic:
            raise pio.PioError("it is for circles.")
        return tuple((name,) for name in domain.periodic)

    def embed(self, domain, group, *values):
        [x], c = values, domain[group[0]]
        angle = 2 * np.pi * (x - c.low) / c.length
        if self.mode == "half":
            angle = angle / 2
        if self.mode == "kinked":
            angle = jnp.abs(jnp.sin(angle * 1.3))
        if self.mode == "random":
            angle = angle + np.random.default_rng().uniform()
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], 0 if self.mode == "first" else -1)


def test_a_sound_embedding_passes_every_check():
    found = list(pio.testing.suite("embedding", Map, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found


@pytest.mark.parametrize(
    ("mode", "check", "what", "mend"),
    [
        ("names", "groups", r"is \('x',\)", "tuple of tuples"),
        ("half", "periodic", r"derivative 0 by x at x = 1 and 3 differs by", "whole numbers k"),
        ("kinked", "smooth", "by x differs by", "no abs"),
        ("random", "aligned", "between a grid and the same points", "alone"),
        ("first", "aligned", r"shape \(2, 3\) at coordinates of shapes", "new last axis"),
    ],
)
def test_embeddings_that_are_odd_are_caught(mode, check, what, mend):
    assert_caught("embedding", partial(Map, mode), check, what, mend)
