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
from pio._files import checksum
from pio._run import create_run
from pio._session import ready, within
from pio._train import Trainer

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
    seen: list[int] = []

    def stop() -> bool:
        return moments is not None and len(seen) >= moments

    for _ in pio.follow(run, stop=stop, say=notes.append, tick=lambda m: seen.append(m.step)):
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


def contents(run: pio.Run) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in files(run.path)}


@pytest.mark.parametrize("damage", ["gone", "damaged"])
def test_a_run_that_has_ended_is_left_as_it_is_whatever_became_of_its_checkpoints(
    done: pio.Run, damage: str
) -> None:
    checkpoints = done.path / "checkpoints"
    truncate(checkpoints) if damage == "damaged" else shutil.rmtree(checkpoints)
    (done.path / ".lock").unlink(missing_ok=True)
    before = contents(done)
    assert advance(done) == ["this run has ended; nothing is left to do"]
    assert (
        contents(done) == before
    )  # without so much as a lock: it may lie where nothing can be written


def test_a_run_that_starts_over_says_so(stopped: pio.Run, whole: pio.Run) -> None:
    shutil.rmtree(stopped.path / "checkpoints")
    notes = advance(stopped)
    assert "13 records and no checkpoint" in notes[0]
    assert model(stopped) == model(whole)


def edit(run: pio.Run, old: str, new: str) -> pio.Run:
    path = run.path / "config.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return pio.load_run(run.path, REGISTRY)


CHANGES = [
    ("seed = 0", "seed = 1", "train.seed = 0, but its config.toml says 1"),
    ("steps = 20", "steps = 40", "train.steps = 20, but its config.toml says 40"),
    ("length_scale = ", "length_scale = 1", "equation.length_scale"),
    ("width = ", "width = 1", "arch.width"),
]


@pytest.mark.parametrize(("old", "new", "message"), CHANGES)
def test_a_changed_config_is_noticed(
    done: pio.Run, part: pio.Run, tmp_path: Path, old: str, new: str, message: str
) -> None:
    shutil.copytree(part.path, tmp_path / "part")
    ended, begun = (
        edit(pio.load_run(p, REGISTRY), old, new) for p in (done.path, tmp_path / "part")
    )
    for run in (ended, begun):
        for use in (lambda run: run.params, advance):
            with pytest.raises(pio.PioError, match=message) as error:
                use(run)
            assert f"--init-from {run.path}" in str(error.value)
    # Another run may begin with what was learned.
    assert len(ended.arrays()) == len(begun.arrays()) > 0


def test_what_does_not_change_the_result_may_change(stopped: pio.Run, whole: pio.Run) -> None:
    run = edit(stopped, "checkpoints = 2", "checkpoints = 4")
    run = edit(run, 'preset = "smoke"', 'preset = "mine"')
    run.__dict__["trainer"] = whole.trainer
    advance(run)
    assert lines(run) == lines(whole)
    assert pio.load_run(run.path, REGISTRY).params is not None


def test_checkpoints_of_earlier_versions_can_be_read(stopped: pio.Run, whole: pio.Run) -> None:
    for step in stopped.checkpoints.steps():
        arrays, about = stopped.checkpoints.arrays(step)
        kept = {key: about[key] for key in ("schema", "step", "seconds", "error")}
        path = stopped.path / "checkpoints" / str(step) / "about.json"
        path.write_text(json.dumps({**kept, "checksum": checksum(arrays)}))
    notes = advance(stopped)
    assert any("continuing at step 13" in note for note in notes)
    assert model(stopped) == model(whole)


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


def say(**changes: Any) -> Callable[[Path], None]:
    """An `about.json` that says something else."""

    def change(directory: Path) -> None:
        about = directory / "about.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), **changes}))

    return change


DAMAGE = [
    truncate,
    flip,
    lambda d: shutil.rmtree(d / "state"),
    say(step=19),
    say(step=True),
    say(seconds=1e6),
    say(seconds="long"),
    say(schema="x"),
    say(config=3),
    lambda d: (d / "about.json").write_text("[]"),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_reported_and_the_one_before_taken(
    stopped: pio.Run, whole: pio.Run, damage: Callable[[Path], None]
) -> None:
    damage(stopped.path / "checkpoints" / "13")
    notes = advance(stopped)
    assert any("checkpoints/13 is damaged" in note for note in notes)
    assert lines(stopped) == lines(whole)


def test_a_checkpoint_under_another_name_is_not_believed(stopped: pio.Run, whole: pio.Run) -> None:
    (stopped.path / "checkpoints" / "13").rename(stopped.path / "checkpoints" / "17")
    notes = advance(stopped)
    assert any("checkpoints/17 is damaged: it says that it is of step 13" in note for note in notes)
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


def test_a_run_whose_plugin_file_is_not_loaded_says_how_to_load_it(done: pio.Run) -> None:
    config, environment = done.path / "config.toml", done.path / "environment.json"
    config.write_text(config.read_text().replace('"advection"', '"heat"'))
    found = json.loads(environment.read_text())
    found["plugins"].append({"distribution": None, "version": None, "file": "heat.py"})
    environment.write_text(json.dumps(found))
    with pytest.raises(
        pio.PioError, match=r"heat\.py, which is not loaded; give it before"
    ) as caught:
        pio.load_run(done.path)
    assert "`pio --plugin heat.py …`" in str(caught.value)
    assert f"pio.load_run({str(done.path)!r}, pio.discover(['heat.py']))" in str(caught.value)


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


def test_a_run_that_begins_with_another_keeps_to_it(whole: pio.Run, done: pio.Run) -> None:
    start = done.path.parent / "start"
    shutil.copytree(whole.path, start)
    run = new(done.path.parent / "next", **{"train.init_from": str(start), "train.seed": 1})
    shutil.rmtree(start)
    with pytest.raises(pio.PioError, match=f"no run in {start}"):
        advance(run)
    shutil.copytree(whole.path, start)
    (start / "model.safetensors").unlink()
    shutil.rmtree(start / "checkpoints" / "20")  # what is left is of an earlier step
    with pytest.raises(pio.PioError, match="have changed since they were chosen"):
        advance(run)


def test_a_run_that_shares_nothing_is_refused_before_there_is_a_directory(
    whole: pio.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(whole.path.parent)
    flags = {**FLAGS, "arch.name": "modified", "arch.width": 5, "train.init_from": "run"}
    config = pio.resolve(REGISTRY, flags=flags)
    assert config.train.init_from == str(whole.path)
    with pytest.raises(pio.PioError, match="no parameter of equal name and shape"):
        ready(config, REGISTRY)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 5, "seconds": 3.0}, "steps or seconds"),
        ({"seconds": -3.0}, r"positive number of seconds \(got -3\)"),
        ({"seconds": float("nan")}, "positive number of seconds"),
        ({"seconds": float("inf")}, "positive number of seconds"),
        ({"seconds": 60.0, "out": "."}, "no empty directory"),
    ],
)
def test_train_refuses_before_it_times(
    given: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pio._session.estimate", None)
    with pytest.raises(pio.PioError, match=message):
        pio.train("advection", "vanilla", preset="smoke", **given)


def test_a_run_that_is_stopped_early_takes_no_step(whole: pio.Run, tmp_path: Path) -> None:
    run = new(tmp_path / "run")
    run.__dict__["trainer"] = whole.trainer
    assert list(pio.follow(run, stop=lambda: True)) == []
    assert (run.status["state"], run.status["step"]) == ("interrupted", 0)
    advance(run)
    assert model(run) == model(whole)


def test_training_stops_while_the_test_set_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path / "cache"))
    run = new(tmp_path / "run", **{"train.test_functions": 200})
    notes: list[str] = []
    assert not list(pio.follow(run, stop=lambda: len(notes) > 0, say=notes.append))
    assert "making the test set" in notes[-1]
    assert run.status["state"] == "interrupted"


STATUS = ["[]", "null", '{"state": 3}', '{"state": "done", "seconds": "x"}', '{"state": "do']


@pytest.mark.parametrize("text", STATUS)
def test_a_status_that_says_nothing_is_damaged(done: pio.Run, whole: pio.Run, text: str) -> None:
    (done.path / "status.json").write_text(text)
    assert done.status == {"state": "damaged"}
    done.__dict__["trainer"] = whole.trainer
    advance(done)
    assert done.status["state"] == "done"


@pytest.mark.parametrize("steps", [1, 7, 10, 199, 200, 201, 1999, 4000])
@pytest.mark.parametrize("evaluations", [1, 3, 20])
def test_evaluations_are_counted_without_going_through_all_steps(
    whole: pio.Run, steps: int, evaluations: int
) -> None:
    train = replace(whole.config.train, steps=steps, evaluations=evaluations)
    trainer = Trainer.of(replace(whole.config, train=train), REGISTRY)
    assert trainer.evaluations == sum(map(trainer.evaluates_at, range(1, steps + 1)))


@pytest.mark.parametrize("path", ["a" * 300, "file/run"])
def test_a_path_that_cannot_be_looked_at_is_named(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    for use in (lambda: pio.load_run(path), lambda: new(Path(path))):
        with pytest.raises(pio.PioError, match=path):
            use()


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
