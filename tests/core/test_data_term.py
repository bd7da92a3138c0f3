"""Measurements of the solution are one more term of the loss."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio

REGISTRY = pio.discover()
EQUATION = REGISTRY.make("equation", "diffusion-reaction")
FLAGS = {
    "equation.name": "diffusion-reaction",
    "arch.name": "tl",
    "preset": "smoke",
    "optimizer.name": "adamw",
    "train.test_functions": 2,
}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@functools.cache
def block() -> dict[str, np.ndarray]:
    """Measurements on a grid: 3 functions, 5 places, 4 times. They are far from what solves the equation."""
    u = pio.draw(EQUATION.inputs, jax.random.key(7), 3)
    x, t = np.linspace(0, 1, 5), np.linspace(0, 1, 4)
    s = np.arange(1.0, 4)[:, None, None] * (x * (1 - x))[:, None] * t
    return {"u": u, "x": x, "t": t, "s": s}


def scattered() -> dict[str, np.ndarray]:
    """The same, a point at a time."""
    found = block()
    f, x, t = np.meshgrid(np.arange(3), found["x"], found["t"], indexing="ij")
    flat = {"function": f, "x": x, "t": t, "s": found["s"]}
    return {"u": found["u"], **{name: a.ravel() for name, a in flat.items()}}


def per_function() -> dict[str, np.ndarray]:
    return {
        n: a if n == "u" else a.reshape(3, 20) for n, a in scattered().items() if n != "function"
    }


def shared() -> dict[str, np.ndarray]:
    """The same points for every function."""
    return {n: a[0] if n in ("x", "t") else a for n, a in per_function().items()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.savez(tmp_path / "data.npz", **block())
    return tmp_path / "data.npz"


def config(file: Path, **more: Any) -> pio.Config:
    return pio.resolve(REGISTRY, flags={**FLAGS, "data.file": str(file)}, settings=more)


@pytest.mark.parametrize("layout", [scattered, per_function, shared])
def test_the_layouts_mean_the_same(layout: Any) -> None:
    one, other = (pio.labels(EQUATION, a) for a in (block(), layout()))
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert one.values["s"][-1] == block()["s"][2, -1, -1]


def test_u_may_be_measured_elsewhere() -> None:
    places = np.linspace(0, 1, 60)
    u = pio.read(EQUATION.inputs, block()["u"], places)
    found = pio.labels(EQUATION, {**block(), "u": u, "places": places})
    np.testing.assert_allclose(found.u, block()["u"], atol=1e-4)


def test_one_function_needs_no_number() -> None:
    some = np.linspace(0, 1, 6)
    found = pio.labels(EQUATION, {"u": block()["u"][0], "x": some, "t": some, "s": some})
    assert found.function.tolist() == [0] * 6


def hole(name: str) -> dict[str, np.ndarray]:
    values = scattered()[name].copy()
    values[3] = np.nan
    return {name: values}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no u": ({"u": None}, "no array 'u'"),
    "no coordinate": ({"t": None}, "no array 't'"),
    "nothing measured": ({"s": None}, "give an array 's'"),
    "another unknown": ({"sigma": np.ones(60)}, "no use for an array 'sigma'"),
    "too few points": ({"x": np.ones(7)}, r"x \(7,\).*one of these shapes"),
    "functions left out": ({"function": None}, "one of these shapes"),
    "too few functions": ({"function": np.zeros(3)}, r"function \(3,\)"),
    "a function there is not": ({"function": np.full(60, 3)}, "from 0 to 2"),
    "half a function": ({"function": np.full(60, 0.5)}, "whole numbers"),
    "a hole": (hole("s"), "s has 1 values that are not finite, the first at point 3"),
    "no place": (hole("x"), "x has 1 values that are not finite"),
    "outside": ({"x": np.full(60, 1.5)}, "x runs from 0 to 1, but 60 of 60"),
    "other sensors": ({"u": np.ones((3, 7))}, "101 sensors"),
    "words": ({"s": np.full(60, "much")}, "s is an array of real numbers"),
    "none at all": ({n: np.zeros(0) for n in ("s", "x", "t", "function")}, "at least one"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_malformed_is_refused_with_the_file(case: str, tmp_path: Path) -> None:
    change, message = WRONG[case]
    arrays = {n: a for n, a in {**scattered(), **change}.items() if a is not None}
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(pio.PioError, match=f"(?s)data.npz cannot be trained on: .*{message}"):
        pio.read_labels(EQUATION, tmp_path / "data.npz")


def test_what_is_no_file_of_arrays_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_text("x,t,s\n")
    with pytest.raises(pio.PioError, match=r"no \.npz file"):
        pio.read_labels(EQUATION, tmp_path / "data.npz")
    np.save(tmp_path / "data.npy", np.ones(3))
    with pytest.raises(pio.PioError, match=r"no \.npz file"):
        pio.read_labels(EQUATION, tmp_path / "data.npy")
    with pytest.raises(pio.PioError, match=r"cannot read .*No such file"):
        config(tmp_path / "none.npz")


def drawn(trainer: pio.Trainer, step: int) -> Any:
    batches, rows = trainer.sampler.draw(trainer.source, step)
    assert rows is not None
    return batches["data"], np.ravel(rows["data"])


def test_a_step_takes_different_measurements_all_equally_often(file: Path) -> None:
    trainer = pio.Trainer.of(config(file, **{"data.batch": 7}), REGISTRY)
    rows = np.stack([drawn(trainer, step)[1] for step in range(300)])
    assert all(len(set(row)) == 7 for row in rows)
    counts = np.bincount(rows.ravel(), minlength=60)
    assert len(counts) == 60
    # 35 are expected of each, and 20 is three standard deviations away.
    assert counts.min() > 15
    assert counts.max() < 60
    labels = trainer.sampler.labels
    assert labels is not None
    batch, row = drawn(trainer, 5)
    np.testing.assert_allclose(np.ravel(batch.targets["data"]), labels.values["s"][row], rtol=1e-6)
    np.testing.assert_allclose(batch.u, labels.u[labels.function[row]], rtol=1e-5, atol=1e-6)


def test_a_small_set_is_taken_whole(file: Path) -> None:
    trainer = pio.Trainer.of(config(file), REGISTRY)
    assert drawn(trainer, 5)[1].tolist() == list(range(60))
    assert trainer.sampler.points == 4 * 8 * 8 + 60


def test_the_term_is_the_mean_square_of_what_is_missing(file: Path) -> None:
    trainer = pio.Trainer.of(config(file, **{"train.precision": 64}), REGISTRY)
    params = trainer.model.init(jax.random.key(0), jnp.float64)
    state = trainer.loss.weighting.init(trainer.sampler.rows)
    outcome, _ = jax.jit(trainer._at(trainer.source, state, jnp.zeros((), jnp.int32)))(params)
    s = pio.predict(trainer.model, params, block()["u"], {n: block()[n] for n in ("x", "t")})["s"]
    assert outcome.squares["data"] == pytest.approx(np.mean((s - block()["s"]) ** 2))
    assert outcome.loss == pytest.approx(sum(outcome.squares.values()))


@pytest.mark.parametrize("weighting", ["fixed", "ck"])
def test_slices_change_nothing(weighting: str, file: Path) -> None:
    more = {"train.precision": 64, "weighting.name": weighting}
    whole, parts = (
        pio.Trainer.of(config(file, **more, **{"train.rows": rows}), REGISTRY)
        for rows in (10**9, 7)
    )
    params = whole.model.init(jax.random.key(0), jnp.float64)
    state = whole.loss.weighting.init(whole.sampler.rows)
    one, other = (
        jax.jit(t._at(t.source, state, jnp.zeros((), jnp.int32)))(params) for t in (whole, parts)
    )
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-11), one, other)


@pytest.mark.parametrize("weighting", sorted(set(REGISTRY.of("weighting")) - {"brdr"}))
def test_every_weighting_counts_it(weighting: str, file: Path) -> None:
    trainer = pio.Trainer.of(config(file, **{"weighting.name": weighting}), REGISTRY)
    assert set(trainer.shapes.sums.squares) == {"residual", "data"}


def test_measurements_are_a_frozen_table(file: Path) -> None:
    tables = {
        "sampling.kind": "tables",
        "sampling.batch": 8,
        "sampling.residual": 5,
        "train.train_functions": 3,
        "weighting.name": "brdr",
    }
    trainer = pio.Trainer.of(config(file, **tables), REGISTRY)
    assert trainer.sampler.rows == {"residual": 15, "data": 60}
    assert trainer.shapes.weighting.w["data"].shape == (60,)


def test_two_unknowns_are_two_residuals() -> None:
    from pio._loss import data_term

    term = data_term(("s", "v"))
    found = term.function(s=jnp.ones(3), v=jnp.zeros(3))
    assert list(found) == ["data_s", "data_v"]
    fixed = REGISTRY.make("weighting", "fixed", {"data": 3.0})
    residuals = {"data_v": jnp.ones(3), "initial": jnp.ones(3)}
    owners = {"data_v": "data", "initial": "initial"}
    weights, _ = fixed.update(fixed.init({}), residuals, owners=owners)
    assert (weights["data_v"], weights["initial"]) == (3.0, 1.0)


@pytest.fixture(scope="module")
def pulled(tmp_path_factory: pytest.TempPathFactory) -> pio.Run:
    home = tmp_path_factory.mktemp("pulled")
    np.savez(home / "data.npz", **block())
    return pio.train(
        "diffusion-reaction",
        "tl",
        preset="smoke",
        optimizer="adamw",
        steps=300,
        data=home / "data.npz",
        settings={
            "weighting.residual": 1e-6,
            "data.batch": 32,
            "train.test_functions": 2,
            "optimizer.learning_rate": 0.01,
        },
        out=home / "run",
    )


def test_predictions_are_pulled_to_what_was_measured(pulled: pio.Run) -> None:
    s = pulled.predict(block()["u"], x=block()["x"], t=block()["t"])
    miss = np.linalg.norm(s - block()["s"]) / np.linalg.norm(block()["s"])
    assert miss < 0.1
    assert pulled.metrics()[-1]["squares"]["data"] < 1e-2 * pulled.metrics()[0]["squares"]["data"]


def test_a_resumed_run_equals_one_that_never_stopped(pulled: pio.Run, tmp_path: Path) -> None:
    from pio._run import create_run

    run = create_run(pulled.config, REGISTRY, tmp_path / "run")
    run.__dict__["trainer"] = pulled.trainer  # compiled already
    seen: list[Any] = []
    list(pio.follow(run, stop=lambda: len(seen) >= 4, tick=seen.append))
    assert run.status["state"] == "interrupted"
    pio.resume(run.path)
    names = ("model.safetensors", "errors.npz")
    assert all((run.path / n).read_bytes() == (pulled.path / n).read_bytes() for n in names)


def test_a_run_does_not_go_on_with_another_file(pulled: pio.Run, tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "data.npz"
    shutil.copytree(pulled.path, run)
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(text.replace(str(pulled.config.data.file), str(file)))
    (run / "errors.npz").unlink()  # something is left to do
    with pytest.raises(pio.PioError, match=r"cannot read measurements from .*data\.npz: No such"):
        pio.resume(run)
    np.savez(file, **{**block(), "s": 2 * block()["s"]})
    with pytest.raises(pio.PioError, match="has changed since the run was made"):
        pio.resume(run)
    # What was learned is there to be used all the same.
    assert pio.load_run(run).predict(block()["u"]).shape == (3, 101, 101)
    assert pio.load_run(run).status["state"] == "done"


def test_another_file_leaves_the_digest_of_the_first_behind(file: Path, tmp_path: Path) -> None:
    first = config(file)
    np.savez(tmp_path / "other.npz", **scattered())
    flags = {"data.file": str(tmp_path / "other.npz")}
    other = pio.resolve(REGISTRY, config=first.as_dict(), flags=flags)
    assert other.data.sha256 != first.data.sha256
    assert pio.resolve(REGISTRY, config=first.as_dict()) == first
    with pytest.raises(pio.PioError, match=r"--data FILE\.npz"):
        pio.resolve(REGISTRY, flags=FLAGS, settings={"data.batch": "3"})
