"""Predictions, errors and the warning light do not depend on how they are computed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio
from pio import _evaluate


@pytest.fixture(scope="module")
def model():
    registry = pio.discover()
    equation = registry.make("equation", "diffusion-reaction", {})
    small = registry.make("architecture", "tl", {"width": 8, "depth": 2})
    return pio.Model(equation, small, registry.make("embedding", "none"), hard=True)


@pytest.fixture(scope="module")
def params(model):
    return model.init(jax.random.key(0), jnp.float64)


@pytest.fixture(scope="module")
def u(model):
    return pio.draw(model.equation.inputs, jax.random.key(1), 5)


COARSE = {"x": np.linspace(0, 1, 7), "t": np.linspace(0, 1, 4)}


def truths(s, u):
    """A test set whose truth is s."""
    return pio.Solutions(u, s, COARSE, "made up", Path("nowhere"), made=True)


def test_predictions_are_the_models_on_any_grid(model, params, u):
    s = pio.predict(model, params, u, COARSE)["s"]
    batch = pio.Batch.block(jnp.asarray(u), **{n: jnp.asarray(p) for n, p in COARSE.items()})
    np.testing.assert_allclose(s, model.apply(params, batch)["s"], atol=1e-12)
    assert s.shape == (5, 7, 4)
    assert not s[:, [0, -1]].any()  # the ansatz meets the conditions
    assert pio.predict(model, params, u[0])["s"].shape == (1, 101, 101)


def test_parts_and_slices_change_nothing(model, params, u, monkeypatch):
    whole = pio.predict(model, params, u, COARSE)["s"]
    monkeypatch.setattr(_evaluate, "VALUES", 60)  # two functions at a time
    monkeypatch.setattr(_evaluate, "row_limit", lambda width, dtype: 9)
    jax.clear_caches()
    np.testing.assert_allclose(pio.predict(model, params, u, COARSE)["s"], whole, atol=1e-12)


def test_a_single_precision_model_stays_so(model, params, u):
    single = jax.tree.map(lambda a: a.astype(jnp.float32), params)
    s = pio.predict(model, single, u, COARSE)["s"]
    np.testing.assert_allclose(s, pio.predict(model, params, u, COARSE)["s"], atol=1e-4)
    np.testing.assert_array_equal(s, s.astype(np.float32))


def test_errors_are_relative_and_per_function(model, params, u):
    s = pio.predict(model, params, u, COARSE)
    wrong = np.array([0.0, 0.01, 0.1, 0.5, 1.0])
    truth = {"s": s["s"] / (1 + wrong)[:, None, None]}
    errors = pio.prediction_errors(model, params, truths(truth, u))
    np.testing.assert_allclose(errors, wrong, atol=1e-12)
    summary = pio.Evaluation("made up", errors).summary
    assert (summary["min"], summary["median"]) == pytest.approx((0.0, 0.1), abs=1e-12)
    assert (summary["mean"], summary["max"]) == pytest.approx((wrong.mean(), 1.0))


def test_evaluation_is_against_every_reference(tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path))
    registry = pio.discover()
    equation = registry.make("equation", "advection")
    tiny = registry.make("architecture", "vanilla", {"width": 4, "depth": 1})
    model = pio.Model(equation, tiny, registry.make("embedding", "none"))
    found = pio.evaluate(model, model.init(jax.random.key(0)), 3)
    assert list(found) == ["exact", "box"]
    assert all(evaluation.errors.shape == (3,) for evaluation in found.values())


def test_the_light_tells_unusual_functions_from_usual_ones(model, params, u):
    usual = pio.light(model, params, u, usual=16, points=8)
    assert usual.ratio.shape == usual.rank.shape == (5,)
    assert not usual.warns.all()
    assert pio.light(model, params, 50 * u, usual=16, points=8).warns.all()


def test_the_light_warns_of_what_is_not_finite():
    assert list(pio.Light(np.array([np.nan, np.inf, 1.0]), np.array([1.0, 2.0])).warns) == [
        True,
        True,
        False,
    ]


def test_the_residual_of_an_exact_solution_is_dark(model, params):
    # s = 0 solves s_t = D s_xx + k s² + u for u = 0, and the ansatz gives it for weights of zero.
    zero = jax.tree.map(jnp.zeros_like, params)
    assert pio.light(model, zero, np.zeros(101), usual=4, points=4).residual == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("values", "points", "message"),
    [
        (np.zeros(7), None, "101 sensors"),
        (np.full(101, np.nan), None, "not finite"),
        (np.zeros(101), {"x": [0.5]}, "give points for each"),
        (np.zeros(101), {"x": [0.5], "t": [2.0]}, "stay inside"),
    ],
)
def test_wrong_inputs_are_explained(model, params, values, points, message):
    with pytest.raises(pio.PioError, match=message):
        pio.predict(model, params, values, points)


def test_a_light_needs_something_to_compare(model, params, u):
    with pytest.raises(pio.PioError, match="functions and points"):
        pio.light(model, params, u, usual=0)


def test_equal_models_share_what_is_compiled(model, params, u):
    pio.predict(model, params, u, COARSE)
    before = _evaluate._compiled._cache_size()
    pio.predict(dataclasses.replace(model), params, u, COARSE)
    assert _evaluate._compiled._cache_size() == before


def test_a_prediction_that_is_not_a_number_is_an_error_that_names_its_function(model, params, u):
    broken = jax.tree.map(lambda a: a * jnp.nan, params)
    with pytest.raises(
        pio.PioError, match=r"function 0 \(and 4 more\): the prediction is not a num"
    ):
        pio.predict(model, broken, u, COARSE)
