"""A run directory survives what happens to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pio
from pio._run import create_run
from pio._session import within

REGISTRY = pio.discover()
FLAGS = {
    "equation.name": "advection",
    "arch.name": "vanilla",
    "preset": "smoke",
    "optimizer.name": "adamw",
    "train.test_functions": 2,
    "run.checkpoint_seconds": 1e-9,
}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def new(path: Path, **settings: Any) -> pio.Run:
    config = pio.resolve(REGISTRY, flags={**FLAGS, **settings})
    return create_run(config, REGISTRY, path)


def advance(run: pio.Run, moments: int | None = None) -> list[str]:
    """Train until the end or for some host calls; the notes."""
    notes: list[str] = []
    count = iter(range(10**6))
    stop: Callable[[], bool] = lambda: moments is not None and next(count) >= moments - 1  # noqa: E731
    for _ in pio.follow(run, stop=stop, say=notes.append):
        pass
    return notes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> pio.Run:
    run = new(tmp_path_factory.mktemp("whole") / "run")
    advance(run)
    return run


@pytest.fixture
def done(whole: pio.Run, tmp_path: Path) -> pio.Run:
    """A finished run, to be damaged."""
    shutil.copytree(whole.path, tmp_path / "run")
    return pio.load_run(tmp_path / "run", REGISTRY)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory, whole: pio.Run) -> pio.Run:
    run = new(tmp_path_factory.mktemp("part") / "run")
    run.__dict__["trainer"] = whole.trainer  # compiled already
    advance(run, 13)
    return run


@pytest.fixture
def stopped(part: pio.Run, whole: pio.Run, tmp_path: Path) -> pio.Run:
    """A run that was interrupted on the way."""
    shutil.copytree(part.path, tmp_path / "run")
    run = pio.load_run(tmp_path / "run", REGISTRY)
    run.__dict__["trainer"] = whole.trainer
    return run


def model(run: pio.Run) -> bytes:
    return (run.path / "model.safetensors").read_bytes()


def lines(run: pio.Run) -> list[dict[str, Any]]:
    timing = ("seconds", "points_per_second")
    return [{k: v for k, v in line.items() if k not in timing} for line in run.metrics()]


def test_a_run_leaves_what_it_should(whole: pio.Run) -> None:
    names = {p.name for p in whole.path.iterdir()} - {".lock"}
    assert names == {
        "config.toml",
        "environment.json",
        "metrics.jsonl",
        "checkpoints",
        "model.safetensors",
        "errors.npz",
        "status.json",
    }
    assert whole.status["state"] == "done"
    with np.load(whole.path / "errors.npz", allow_pickle=False) as errors:
        assert np.mean(errors["exact"]) == pytest.approx(whole.status["error"])


def test_checkpoints_are_the_latest_and_the_best(whole: pio.Run) -> None:
    steps = whole.checkpoints.steps()
    assert steps[-1] == 20
    errors = {s: whole.checkpoints.about(s)["error"] for s in steps}
    assert min(e for e in errors.values() if e is not None) == min(
        line["error"] for line in whole.metrics() if "error" in line
    )
    assert len(steps) <= 3


def test_a_loaded_run_predicts(whole: pio.Run) -> None:
    run = pio.load_run(whole.path)
    assert run.config == whole.config
    u = pio.draw(run.equation.inputs, jax.random.key(0), 3)
    assert run.predict(u, t=[0.5, 1.0], x=0.25).shape == (3, 1, 2)
    grid = run.predict(u)
    assert grid.shape == (3, 101, 101)
    assert np.allclose(run.predict(u, t=1.0)[..., 0], grid[..., -1], atol=1e-6)


def test_a_resumed_run_equals_one_that_never_stopped(stopped: pio.Run, whole: pio.Run) -> None:
    assert stopped.status["state"] == "interrupted"
    assert stopped.status["step"] == 13
    advance(stopped, 2)
    assert stopped.status["step"] == 15
    advance(stopped)
    assert model(stopped) == model(whole)
    assert lines(stopped) == lines(whole)
    assert stopped.status["state"] == "done"


def test_metrics_have_no_step_twice_after_a_crash(stopped: pio.Run, whole: pio.Run) -> None:
    # Killed after two more records, the second cut short, without a checkpoint.
    path = stopped.path / "metrics.jsonl"
    path.write_text(path.read_text() + '{"step": 14, "loss": 1.0}\n{"step": 15, "lo')
    advance(stopped)
    assert lines(stopped) == lines(whole)


def test_a_finished_run_resumed_writes_what_is_missing(done: pio.Run, whole: pio.Run) -> None:
    (done.path / "model.safetensors").unlink()
    done.__dict__["trainer"] = whole.trainer
    advance(done)
    assert model(done) == model(whole)


def test_half_a_checkpoint_is_swept_away(stopped: pio.Run) -> None:
    rest = stopped.path / "checkpoints" / ".14.part"
    rest.mkdir()
    (rest / "state").write_text("")
    advance(stopped, 1)
    assert not rest.exists()


def files(directory: Path) -> Iterator[Path]:
    return (p for p in directory.rglob("*") if p.is_file())


def truncate(directory: Path) -> None:
    for path in files(directory):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(directory: Path) -> None:
    """Other numbers in a checkpoint that orbax reads without complaint."""
    about = directory / "about.json"
    found = json.loads(about.read_text())
    digit = "0" if found["checksum"][0] != "0" else "1"
    about.write_text(json.dumps({**found, "checksum": digit + found["checksum"][1:]}))


@pytest.mark.parametrize("damage", [truncate, flip, lambda d: shutil.rmtree(d / "state")])
def test_a_damaged_checkpoint_is_reported_and_the_one_before_taken(
    stopped: pio.Run, whole: pio.Run, damage: Callable[[Path], None]
) -> None:
    damage(stopped.path / "checkpoints" / "13")
    notes = advance(stopped)
    assert any("checkpoints/13 is damaged" in note for note in notes)
    assert lines(stopped) == lines(whole)


def test_a_run_without_a_sound_checkpoint_says_so(stopped: pio.Run) -> None:
    for step in stopped.checkpoints.steps():
        truncate(stopped.path / "checkpoints" / str(step))
    with pytest.raises(pio.RunError, match=r"no checkpoint .* can be read"):
        advance(stopped)


@pytest.mark.parametrize("where", [0, 40, -10, None])
def test_a_damaged_model_file_is_refused(done: pio.Run, where: int | None) -> None:
    path = done.path / "model.safetensors"
    data = bytearray(path.read_bytes())
    if where is None:
        data = data[: len(data) // 2]
    else:
        data[where] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(pio.PioError, match="damaged"):
        _ = done.params


def test_a_run_of_a_later_version_is_refused(done: pio.Run) -> None:
    path = done.path / "config.toml"
    path.write_text(path.read_text().replace("schema = 1", "schema = 2"))
    with pytest.raises(pio.PioError, match="later version"):
        pio.load_run(done.path)


def test_a_run_whose_plugin_is_gone_says_which(done: pio.Run) -> None:
    config, environment = done.path / "config.toml", done.path / "environment.json"
    config.write_text(config.read_text().replace('"advection"', '"heat"'))
    found = json.loads(environment.read_text())
    found["plugins"].append({"distribution": "pio-heat", "version": "1.0", "file": None})
    environment.write_text(json.dumps(found))
    with pytest.raises(pio.PioError, match=r"no equation named 'heat'.* install pio-heat"):
        pio.load_run(done.path)


def test_a_directory_in_use_is_not_written_over(done: pio.Run, tmp_path: Path) -> None:
    with pytest.raises(pio.PioError, match="already holds a run"):
        new(done.path)
    (tmp_path / "notes").write_text("")
    with pytest.raises(pio.PioError, match="no empty directory"):
        new(tmp_path)
    with pytest.raises(pio.PioError, match="cannot write"):
        new(tmp_path / "notes" / "run")


def test_a_directory_wanted_twice_at_once_goes_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = pio.resolve(REGISTRY, flags=FLAGS)

    def make(path: str | None) -> Any:
        try:
            return create_run(config, REGISTRY, path).path
        except pio.PioError as error:
            return error

    with ThreadPoolExecutor(4) as threads:
        chosen = list(threads.map(make, [None] * 4))
        same = list(threads.map(make, ["one"] * 4))
    assert len(set(chosen)) == 4
    refused = [str(found) for found in same if isinstance(found, pio.PioError)]
    assert len(refused) == 3
    assert all("choose another" in text for text in refused)


def test_a_run_outlives_its_preset(done: pio.Run) -> None:
    text = (done.path / "config.toml").read_text()
    (done.path / "config.toml").write_text(text.replace('"smoke"', '"forgotten"', 1))
    again = pio.load_run(done.path, REGISTRY)
    assert again.config == replace(done.config, preset="forgotten")


def test_two_processes_cannot_train_one_run(stopped: pio.Run) -> None:
    with stopped.locked(), pytest.raises(pio.PioError, match="another process"):
        advance(pio.load_run(stopped.path, REGISTRY))


def test_a_run_begins_with_the_parameters_of_another(whole: pio.Run, tmp_path: Path) -> None:
    run = new(tmp_path / "run", **{"arch.name": "tl", "train.init_from": str(whole.path)})
    notes = advance(run, 1)
    assert any("took over 11 of 12" in note for note in notes)
    assert any("trunk/layer_0/w" in note for note in notes)
    first = run.checkpoints.arrays(0)[0]["params/branch/layer_0/w"]
    assert np.array_equal(first, whole.arrays()["branch/layer_0/w"])


def test_train_reads_like_the_command(tmp_path: Path) -> None:
    seen: list[int] = []
    run = pio.train(
        "advection",
        "vanilla",
        preset="smoke",
        optimizer="adamw",
        steps=3,
        settings={"train.test_functions": 2},
        out=tmp_path / "run",
        on_record=lambda record: seen.append(record.step),
    )
    assert seen == [1, 2, 3]
    assert pio.resume(run.path).status["state"] == "done"


def test_a_time_becomes_a_number_of_steps() -> None:
    config = pio.resolve(REGISTRY, flags=FLAGS)
    steps = within(config, REGISTRY, 60.0).train.steps
    assert steps > 20
    with pytest.raises(pio.PioError, match="too short"):
        within(config, REGISTRY, 0.01)
