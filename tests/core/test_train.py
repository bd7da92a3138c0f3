"""Training is a pure function of its config."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import pio

REGISTRY = pio.discover()
FLAGS = {
    "equation.name": "advection",
    "arch.name": "vanilla",
    "preset": "smoke",
    "optimizer.name": "adamw",
    "train.test_functions": 2,
}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def trainer(**more: Any) -> pio.Trainer:
    config = pio.resolve(
        REGISTRY, flags={**FLAGS, **{k.replace("__", "."): v for k, v in more.items()}}
    )
    return pio.Trainer.of(config, REGISTRY)


def equal(a: Any, b: Any) -> bool:
    return all(map(np.array_equal, jax.tree.leaves(a), jax.tree.leaves(b)))


@pytest.fixture(scope="module")
def short() -> pio.Trainer:
    return trainer(train__steps=40)


def test_the_loss_falls(short: pio.Trainer) -> None:
    records = [m.record for m in short.run(short.init()) if m.record is not None]
    assert records[-1].step == 40
    assert records[-1].loss < records[0].loss
    assert records[-1].error is not None
    assert sum(r.error is not None for r in records) == 4
    assert set(records[0].squares) == {"residual"}


def test_where_host_calls_end_changes_nothing(short: pio.Trainer) -> None:
    once = short.advance(short.init(), 7)
    parts = short.init()
    for count in (1, 4, 2):
        parts = short.advance(parts, count)
    assert equal(once, parts)


def test_the_precision_of_the_process_changes_nothing(short: pio.Trainer) -> None:
    here = short.advance(short.init(), 3)
    with jax.enable_x64(False):
        other = trainer(train__steps=40)
        there = other.advance(other.init(), 3)
    assert equal(here, there)
    assert {leaf.dtype for leaf in jax.tree.leaves(here.params)} == {np.dtype("float32")}


def test_double_precision_is_double_throughout() -> None:
    found = trainer(train__precision=64).shapes
    kinds = {leaf.dtype for leaf in jax.tree.leaves(found) if leaf.dtype.kind == "f"}
    assert kinds == {np.dtype("float64")}


def test_seeds_differ(short: pio.Trainer) -> None:
    other = trainer(train__steps=40, train__seed=1)
    assert not equal(short.init().params, other.init().params)


@pytest.mark.parametrize("weighting", ["fixed", "brdr"])
def test_soft_constraints_and_tables_train(weighting: str) -> None:
    settings = {
        "sampling.kind": "tables",
        "sampling.batch": 32,
        "sampling.residual": 50,
        "sampling.conditions.initial": 11,
        "sampling.conditions.boundary": 11,
        "train.train_functions": 5,
        "train.constraints": "soft",
        "weighting.name": weighting,
        "train.steps": 20,
    }
    config = pio.resolve(REGISTRY, flags=FLAGS, settings=settings)
    found = pio.Trainer.of(config, REGISTRY)
    records = [m.record for m in found.run(found.init()) if m.record is not None]
    assert set(records[-1].squares) == {"residual", "initial", "boundary"}
    assert records[-1].squares["initial"] < records[0].squares["initial"]


@pytest.mark.parametrize("equation", sorted(REGISTRY.of("equation")))
def test_the_published_setting_trains_once_it_is_small(equation: str) -> None:
    flags = {"equation.name": equation, "arch.name": "bxtg", "preset": "paper"}
    small = {
        "sampling.batch": 64,
        "train.train_functions": 20,
        "train.test_functions": 2,
        "arch.width": 16,
        "arch.depth": 2,
        "train.steps": 60,
    }
    config = pio.resolve(REGISTRY, flags=flags, settings=small)
    assert config.optimizer.name == "adamw"
    found = pio.Trainer.of(config, REGISTRY)
    first, last = (found.advance(found.init(), n).sums for n in (10, 60))
    # The sums go on from the start, so the mean over 60 steps includes the first ten.
    assert float(last.loss) / 60 < 0.9 * float(first.loss) / 10


def test_lbfgs_descends_on_a_batch_that_is_held() -> None:
    found = trainer(optimizer__name="lbfgs", train__hold=30, train__steps=30)
    first, last = (found.advance(found.init(), n).sums.loss for n in (1, 30))
    alone = float(last - found.advance(found.init(), 29).sums.loss)
    assert alone < 0.1 * float(first)


def test_divergence_says_where_and_what_to_try() -> None:
    config = pio.resolve(REGISTRY, flags=FLAGS, settings={"optimizer.learning_rate": 1e30})
    found = pio.Trainer.of(config, REGISTRY)
    with pytest.raises(pio.RunError, match=r"diverged at step \d+.*learning_rate=0\.001"):
        list(found.run(found.init()))


def test_a_weighting_of_frozen_points_is_refused_where_points_are_fresh() -> None:
    with pytest.raises(pio.PioError, match="brdr"):
        trainer(weighting__name="brdr")
