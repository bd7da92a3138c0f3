"""Taylor mode agrees with nested forward mode, whatever the program."""

from __future__ import annotations

import math

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pio
from pio._jet import closure
from pio._nested import nest
from pio._taylor import expand

POINT = {
    "x": jnp.linspace(-0.9, 1.0, 4).reshape(1, 4, 1),
    "t": jnp.linspace(0.1, 0.7, 3).reshape(1, 1, 3),
}
INDICES = [(3, 0), (1, 1), (0, 2)]


def agree(fun, point=POINT, indices=INDICES, tolerance=1e-11):
    ours, theirs = (leaves(engine(fun, point, indices)) for engine in (expand, nest))
    for a, b in zip(ours, theirs, strict=True):
        for index in closure(frozenset(indices)):
            # What is left out vanishes.
            got = a.get(index, jnp.zeros_like(b[index]))
            np.testing.assert_allclose(got, b[index], rtol=tolerance, atol=tolerance)


def leaves(jets):
    return jax.tree.leaves(
        jets,
        is_leaf=lambda node: isinstance(node, dict) and all(isinstance(k, tuple) for k in node),
    )


FUNCTIONS = {
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
    "exact gelu": lambda h: jax.nn.gelu(h, approximate=False),
    "softplus (a derivative of its own)": jax.nn.softplus,
    "elu": jax.nn.elu,
    "mish": jax.nn.mish,
    "sin": jnp.sin,
    "cube": lambda h: h**3,
    "power": lambda h: (1.0 + h * h) ** 1.5,
    "quotient": lambda h: h / (2.0 + h**2),
    "square root": lambda h: jnp.sqrt(1.0 + h * h),
    "logarithm": lambda h: jnp.log(4.0 + h),
    "exponential": lambda h: jnp.exp(-h * h),
    "absolute value": jnp.abs,
    "maximum": lambda h: jnp.maximum(h, 0.1),
    "minimum": lambda h: jnp.minimum(0.2, h),
    "where": lambda h: jnp.where(h > 0.1, h**2, jnp.sin(h)),
    "floor and the rest": lambda h: h - jnp.floor(h) + jnp.sign(h),
    "stopped": lambda h: h * jax.lax.stop_gradient(h),
    "checkpointed": jax.checkpoint(lambda h: jnp.sin(h) * h),
    "jitted": jax.jit(lambda h: jnp.tanh(h) - h),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(name):
    agree(lambda p: FUNCTIONS[name](p["x"] * (1.0 + p["t"]) + 0.03))


PROGRAMS = {
    "softmax": lambda h: jax.nn.softmax(h, axis=-1),
    "layer norm": lambda h: (
        (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 0.1)
    ),
    "slices": lambda h: jnp.concatenate([h[..., :2], h[:, ::2, :, 2:].repeat(2, 1)], -1),
    "transposed": lambda h: jnp.swapaxes(h, 1, 2),
    "summed over points": lambda h: h.sum((1, 2)),
    "sorted (in no table)": lambda h: jnp.sort(h * h, axis=-1),
    "scanned (in no table)": lambda h: jax.lax.scan(
        lambda c, _: (jnp.sin(c) * c, None), h, None, length=2
    )[0],
    "attention": lambda h: jax.nn.softmax(h @ jnp.swapaxes(h, -1, -2), axis=-1) @ h,
    "gathered": lambda h: h[..., jnp.array([2, 0])],
    "two matrices": lambda h: jnp.einsum("fxtc,fxtd->fxcd", h, jnp.tanh(h)),
    "reshaped": lambda h: h.reshape(*h.shape[:-1], 2, 2).sum(-2),
    "cumulated": lambda h: jnp.cumsum(h, -1) / 3.0,
    "dot with a vector": lambda h: h @ jnp.arange(4.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_layers(name):
    w = jax.random.normal(jax.random.key(1), (2, 4))

    def program(p):
        features = jnp.concatenate(
            [jnp.broadcast_to(c[..., None], (1, 4, 3, 1)) for c in p.values()], -1
        )
        return PROGRAMS[name](jnp.tanh(features @ w))

    agree(program)


def test_plain_haiku_networks_need_nothing_special():
    def forward(x, t):
        h = jnp.concatenate(jnp.broadcast_arrays(x[..., None], t[..., None]), -1)
        h = hk.nets.MLP([8, 8], activation=jax.nn.gelu)(h)
        h = hk.LayerNorm(-1, create_scale=True, create_offset=True)(h) + h
        return hk.Linear(3)(jnp.tanh(h))

    net = hk.without_apply_rng(hk.transform(forward))
    params = net.init(jax.random.key(0), POINT["x"], POINT["t"])
    agree(lambda p: net.apply(params, p["x"], p["t"]))


def test_what_depends_on_no_coordinate_carries_no_derivatives():
    jets = expand(lambda p: {"u": jnp.ones(3) * 2.0, "x": jnp.sin(p["x"])}, POINT, [(3, 0), (0, 1)])
    assert set(jets["u"]) == {(0, 0)}
    assert (0, 1) not in jets["x"]


@pytest.mark.parametrize("activation", [jnp.tanh, jax.nn.sigmoid, jnp.exp])
def test_parameter_gradients_agree_too(activation):
    w = jax.random.normal(jax.random.key(1), (1, 5))
    v = jax.random.normal(jax.random.key(2), (5, 5)) / 2

    def loss(engine, weights):
        def net(p):
            h = activation(p["x"][..., None] @ weights[0] + p["t"][..., None])
            return activation(h @ weights[1]) @ weights[1][:, 0]

        return sum(jnp.sum(c**2) for c in engine(net, POINT, INDICES).values())

    for a, b in zip(*(jax.grad(loss, 1)(engine, (w, v)) for engine in (expand, nest)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=3))
def test_any_set_of_derivatives_of_an_analytic_function(indices):
    a, b = 0.7, -1.3
    jets = expand(lambda p: jnp.exp(a * p["x"] + b * p["t"]), POINT, indices)
    for i, j in closure(frozenset(indices)):
        exact = a**i * b**j * np.exp(a * POINT["x"] + b * POINT["t"])
        scale = float(math.factorial(i) * math.factorial(j))
        np.testing.assert_allclose(jets[i, j] * scale, exact, rtol=1e-12)


def test_single_precision_stays_single():
    point = {n: c.astype(jnp.float32) for n, c in POINT.items()}
    w = jnp.ones((1, 3), jnp.float32)
    jets = expand(lambda p: jnp.tanh(p["x"][..., None] @ w) / 3, point, INDICES)
    assert {c.dtype for c in jets.values()} == {jnp.dtype("float32")}


AFTER_NESTING = {
    "maximum": lambda x, t: jnp.maximum(jax.nn.softplus(x), 0.6) + t,
    "branch": lambda x, t: jnp.where(jnp.arctan2(x, 1.0 + t) > 0, x**2, t),
    "wrapped": lambda x, t: (x - 0.93) % 1.0 * t,
    "whole part": lambda x, t: 4.0 * x - (4.0 * x).astype(int).astype(x.dtype) + t,
    "interpolated": lambda x, t: (
        jnp.interp(x, jnp.linspace(-1.0, 1.0, 7), jnp.linspace(0.0, 1.0, 7) ** 2) * t
    ),
    "largest": lambda x, t: jax.lax.top_k(jnp.sin(x * (1.0 + t)), 2)[0],
}


@pytest.mark.parametrize("name", AFTER_NESTING)
def test_decisions_are_made_by_values(name):
    """Operations in no table are followed by some that look at the value, not at a derivative."""
    agree(lambda p: AFTER_NESTING[name](p["x"], p["t"]))


def test_a_function_with_only_a_backward_rule_is_refused_by_name_of_the_remedy():
    @jax.custom_vjp
    def half(x):
        return x / 2

    half.defvjp(lambda x: (half(x), None), lambda _, g: (g / 2,))
    with pytest.raises(pio.PioError, match="custom_jvp"):
        expand(lambda p: half(p["x"]), POINT, INDICES)
