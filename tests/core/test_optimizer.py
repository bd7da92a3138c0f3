"""Learning rates rise, fall and end as they were told."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import pio

STEPS = 1000


def rates(schedule, steps=STEPS):
    return np.asarray(jax.vmap(lambda n: schedule.rate(n, steps))(jnp.arange(steps)))


def test_the_published_schedule_is_optax_exponential_decay():
    ours = pio.Schedule(1e-3, decay="exponential", factor=0.99, every=500.0)
    theirs = optax.exponential_decay(1e-3, 500, 0.99)
    for step in (0, 499, 500, 200_000):
        np.testing.assert_allclose(ours.rate(step, 300_000), theirs(step), rtol=1e-6)


def test_cosine_ends_with_the_run_whatever_its_length():
    for steps in (10, 1000):
        found = rates(pio.Schedule(3e-3, warmup=0.1, decay="cosine"), steps)
        assert found.argmax() == pytest.approx(steps // 10, abs=1)
        assert found.max() == pytest.approx(3e-3)
        assert 0 < found[-1] < 0.04 * found.max()
        assert (np.diff(found[found.argmax() :]) <= 0).all()


@pytest.mark.parametrize("decay", ["cosine", "exponential", "constant"])
def test_the_rate_rises_linearly_and_keeps_to_its_floor(decay):
    schedule = pio.Schedule(2.0, warmup=50.0, decay=decay, every=10.0, floor=0.25)
    found = rates(schedule)
    np.testing.assert_allclose(found[:50], 2.0 * np.arange(1, 51) / 50, rtol=1e-6)
    assert found[50:].min() >= 0.5 - 1e-6


def test_a_share_of_the_run_is_a_number_of_steps():
    share, count = (rates(pio.Schedule(1.0, warmup=w, decay="cosine")) for w in (0.05, 50.0))
    np.testing.assert_array_equal(share, count)


@pytest.mark.parametrize(
    "wrong",
    [{"peak": 0.0}, {"peak": 1.0, "warmup": -1.0}, {"peak": 1.0, "floor": 2.0}, {"peak": np.nan}],
)
def test_impossible_rates_are_refused(wrong):
    with pytest.raises(pio.PioError, match=r"a learning rate's \w+ is"):
        pio.Schedule(**wrong)


def test_clipping_bounds_the_norm_and_passes_keywords_by():
    transformation = pio.clipped(optax.sgd(1.0), 1.0)
    grads = {"w": jnp.full((3,), 4.0)}
    updates, _ = transformation.update(
        grads, transformation.init(grads), grads, value=jnp.ones(()), value_fn=lambda p: 0.0
    )
    assert float(optax.tree.norm(updates)) == pytest.approx(1.0)
    with pytest.raises(pio.PioError, match="norm is positive"):
        pio.clipped(optax.sgd(1.0), 0.0)
