"""Slicing changes nothing but memory."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pio
from pio._slices import in_slices, lengths

REGISTRY = pio.discover()


@dataclass(frozen=True)
class Sharp:
    """A weighting that depends on every residual of the batch."""

    needs: frozenset[str] = frozenset({"residuals"})

    def init(self, rows: Any) -> Any:
        return jnp.zeros(())

    def update(self, state: Any, residuals: Any, **given: Any) -> Any:
        peak = functools.reduce(jnp.maximum, [jnp.abs(r).max() for r in residuals.values()])
        return {k: 1.0 + jnp.abs(r) / peak for k, r in residuals.items()}, state + peak


def loss(equation, arch, rows, weighting):
    pde = REGISTRY.make("equation", equation)
    network = REGISTRY.make("architecture", arch, {"width": 5, "depth": 2})
    return pio.Loss(pio.Model(pde, network, REGISTRY.make("embedding", "none")), weighting, rows)


def batches(whole, functions, places, times):
    pde = whole.model.equation
    u = jnp.asarray(pio.draw(pde.inputs, jax.random.key(1), functions))
    box = pde.domain
    x, t = (jnp.linspace(box[n].low, box[n].high, k) for n, k in (("x", places), ("t", times)))
    return {name: pio.Batch.block(u, x=x, t=t) for name in whole.terms}


@settings(max_examples=4)
@given(
    case=st.sampled_from(
        [
            ("burgers", "bxtg"),
            ("advection", "tl"),
            ("kdv", "vanilla"),
            ("diffusion-reaction", "modified"),
        ]
    ),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)),
    rows=st.integers(1, 20),
)
def test_loss_gradient_and_weights_are_those_of_the_whole(case, shape, rows):
    whole, parts = (loss(*case, r, Sharp()) for r in (10**9, rows))
    params = whole.model.init(jax.random.key(0), jnp.float64)
    given = batches(whole, *shape)
    state = Sharp().init({})
    (a, da), (b, db) = (jax.jit(one.value_and_grad)(params, state, given) for one in (whole, parts))
    np.testing.assert_allclose(a.loss, b.loss, rtol=1e-11)
    for key in a.squares:
        np.testing.assert_allclose(a.squares[key], b.squares[key], rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(a.weighting, b.weighting, rtol=1e-11)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-11), da, db)


def test_memory_is_set_by_the_slice():
    def temporary(functions):
        sliced = loss("kdv", "bxtg", 64, Sharp())
        params = sliced.model.init(jax.random.key(0), jnp.float64)
        given = batches(sliced, functions, 8, 8)
        program = jax.jit(lambda p: sliced.value_and_grad(p, jnp.zeros(()), given)).lower(params)
        return program.compile().memory_analysis().temp_size_in_bytes

    few, many = temporary(8), temporary(64)
    # Eight times the batch: residuals and weights grow with it, what the networks need does not.
    assert many < 2 * few


@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    reads=st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=2),
    rows=st.integers(1, 5000),
)
def test_a_slice_visits_no_more_rows_than_allowed(shape, reads, rows):
    batch = pio.Batch.block(jnp.zeros((shape[0], 3)), x=jnp.zeros(shape[1]), t=jnp.zeros(shape[2]))
    visited = [tuple(n if long else 1 for n, long in zip(shape, r, strict=True)) for r in reads]
    size = lengths(batch, visited, rows)
    for v in visited:
        assert math.prod(map(min, size, v)) <= rows


def test_functions_are_cut_only_where_that_helps():
    batch = pio.Batch.block(jnp.zeros((64, 3)), x=jnp.zeros(16), t=jnp.zeros(16))
    assert lengths(batch, [(64, 1, 1), (1, 16, 16)], 2048) == (64, 16, 16)
    assert lengths(batch, [(64, 16, 1), (64, 16, 16)], 2048) == (8, 16, 16)


@pytest.mark.parametrize("size", [(5, 4, 3), (2, 3, 2), (1, 1, 1)])
def test_pieces_are_put_back_where_they_were(size):
    batch = pio.Batch.block(jnp.arange(5.0)[:, None], x=jnp.arange(4.0), t=jnp.arange(3.0))
    spread = in_slices(
        lambda b: b.u[:, :, None] * 100 + b.points["x"] * 10 + b.points["t"], size, batch
    )
    expected = (
        jnp.arange(5.0)[:, None, None] * 100 + jnp.arange(4.0)[:, None] * 10 + jnp.arange(3.0)
    )
    np.testing.assert_array_equal(spread, expected)


def test_a_condition_that_nothing_implies_is_a_term():
    names = {
        (hard, embedding): set(
            pio.Loss(
                pio.Model(
                    REGISTRY.make("equation", "burgers"),
                    REGISTRY.make("architecture", "bx"),
                    REGISTRY.make("embedding", embedding),
                    hard=hard,
                ),
                Sharp(),
            ).terms
        )
        for hard in (False, True)
        for embedding in ("fourier", "none")
    }
    assert names[True, "fourier"] == {"residual"}
    assert names[False, "fourier"] == {"residual", "initial"}
    assert names[True, "none"] == {"residual", "periodic", "periodic_x"}
    assert names[False, "none"] == {"residual", "initial", "periodic", "periodic_x"}


@dataclass(frozen=True)
class Later:
    """Weights of lower rank than residuals: one for each time."""

    needs: frozenset[str] = frozenset({"residuals"})

    def init(self, rows: Any) -> Any:
        return ()

    def update(self, state: Any, residuals: Any, **given: Any) -> Any:
        return {
            k: 1.0 + jnp.arange(r.shape[-1], dtype=r.dtype) for k, r in residuals.items()
        }, state


def test_weights_of_lower_rank_broadcast_as_usual():
    whole, parts = (loss("advection", "bxtg", rows, Later()) for rows in (10**9, 8))
    params = whole.model.init(jax.random.key(0), jnp.float64)
    given = {"residual": batches(whole, 4, 2, 4)["residual"]}
    a, b = (one.value_and_grad(params, (), given)[0].loss for one in (whole, parts))
    np.testing.assert_allclose(a, b, rtol=1e-12)
