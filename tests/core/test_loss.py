"""What holds for the loss of every architecture that is registered."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import pio

REGISTRY = pio.discover()


@pytest.mark.parametrize("arch", sorted(REGISTRY.of("architecture")))
def test_seeds_side_by_side_in_single_precision_compiled_once(arch):
    equation = REGISTRY.make("equation", "burgers")
    model = pio.Model(
        equation,
        REGISTRY.make("architecture", arch, {"width": 6, "depth": 2}),
        REGISTRY.make("embedding", "fourier", {"order": 2}),
        hard=True,
    )
    loss = pio.Loss(model, REGISTRY.make("weighting", "fixed"))
    state = loss.weighting.init(dict.fromkeys(loss.terms, 0))
    traces = []

    @jax.jit
    def step(seeds, u, x, t):
        traces.append(1)
        batch = pio.Batch.block(u, x=x, t=t)

        def one(seed):
            params = model.init(jax.random.key(seed), jnp.float32)
            return loss.value_and_grad(params, state, dict.fromkeys(loss.terms, batch))

        return jax.vmap(one)(seeds)

    x, t = jnp.linspace(0, 1, 4, dtype=jnp.float32), jnp.linspace(0, 1, 3, dtype=jnp.float32)
    for k in range(2):
        u = jnp.asarray(pio.draw(equation.inputs, jax.random.key(k), 2), jnp.float32)
        outcome, grads = step(jnp.arange(3), u, x, t)
        assert outcome.loss.shape == (3,)
        assert len(set(map(float, outcome.loss))) == 3
        for leaf in jax.tree.leaves(grads):
            assert leaf.dtype == jnp.float32
            assert jnp.isfinite(leaf).all()
    assert len(traces) == 1


def test_a_batch_for_an_unknown_term_is_refused():
    equation = REGISTRY.make("equation", "burgers")
    model = pio.Model(
        equation, REGISTRY.make("architecture", "bx"), REGISTRY.make("embedding", "fourier")
    )
    loss = pio.Loss(model, REGISTRY.make("weighting", "fixed"))
    u = jnp.zeros((1, len(equation.inputs.sensors)))
    batch = pio.Batch.pairs(u, x=jnp.zeros(1), t=jnp.zeros(1))
    with pytest.raises(pio.PioError, match="inital"):
        loss.value_and_grad(model.init(jax.random.key(0)), (), {"inital": batch})


class Pair:
    """A system of two equations for two unknowns, each with its own name."""

    domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))
    unknowns = ("s", "v")
    inputs = REGISTRY.make("equation", "diffusion-reaction").inputs
    grid: dict = {}  # noqa: RUF012
    references: dict = {}  # noqa: RUF012

    def conditions(self):
        return (pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),)

    def residual(self, s_t, v_x, v_t, s_x):
        return {"mass": s_t + v_x, "momentum": v_t + s_x}


@pytest.mark.parametrize("name", sorted(REGISTRY.of("weighting")))
@pytest.mark.parametrize("rows", [10**6, 3])
def test_every_weighting_works_for_a_system(name, rows):
    network = REGISTRY.make("architecture", "bxtl", {"width": 5, "depth": 2})
    model = pio.Model(Pair(), network, REGISTRY.make("embedding", "none"))
    loss = pio.Loss(model, REGISTRY.make("weighting", name), rows)
    assert loss.owners == {"mass": "residual", "momentum": "residual", "initial": "initial"}
    u = jnp.asarray(pio.draw(Pair.inputs, jax.random.key(0), 4))
    points = {"x": jnp.linspace(0.0, 1.0, 4), "t": jnp.linspace(0.0, 1.0, 4)}
    batch = pio.Batch.pairs(u, **points)
    state = loss.weighting.init(dict.fromkeys(loss.owners, 9))
    visited = {term: jnp.arange(4).reshape(4, 1, 1) for term in loss.terms}
    params = model.init(jax.random.key(0), jnp.float64)
    batches = dict.fromkeys(loss.terms, batch)
    outcome, slope = loss.value_and_grad(params, state, batches, 0, visited)
    assert set(outcome.squares) == set(loss.owners)
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves((outcome.loss, slope)))


def test_a_seldom_kernel_is_evaluated_only_when_it_is_due():
    """At a step that is not due the weights are those kept, whatever the residuals are."""
    equation = REGISTRY.make("equation", "burgers")
    network = REGISTRY.make("architecture", "bx", {"width": 5, "depth": 2})
    model = pio.Model(equation, network, REGISTRY.make("embedding", "fourier"))
    loss = pio.Loss(model, REGISTRY.make("weighting", "ck", {"cadence": 5}))
    u = jnp.asarray(pio.draw(equation.inputs, jax.random.key(0), 2))
    batch = pio.Batch.block(u, x=jnp.linspace(0.0, 1.0, 3), t=jnp.linspace(0.0, 1.0, 3))
    batches = dict.fromkeys(loss.terms, batch)
    state = loss.weighting.init(dict.fromkeys(loss.owners, 0))
    params = model.init(jax.random.key(0), jnp.float64)
    due, _ = loss.value_and_grad(params, state, batches, 5)
    kept, _ = loss.value_and_grad(params, state, batches, 6)
    assert all(w == 1 for w in kept.weighting.weights.values())
    assert any(w > 1 for w in due.weighting.weights.values())
