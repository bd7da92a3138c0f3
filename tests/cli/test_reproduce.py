"""`pio reproduce`: a table trained, interrupted, continued, and set beside what was published."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pio as library
from pio._reproduce import _notes
from pio._session import filling
from pio_cli._progress import asked, interruptible, terminable

SMALL = ("arch.width=8", "arch.depth=1", "optimizer.name=adamw", "train.test_functions=8")
COMMAND = (
    *("reproduce", "diffusion-reaction", "--archs", "vanilla,tl", "--preset", "smoke"),
    *("--steps", "200"),
    *(part for setting in SMALL for part in ("--set", setting)),
)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def whole(cache: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A study reproduced in one go, and what was printed of it against the published reference."""
    out = tmp_path_factory.mktemp("whole")
    done = subprocess.run(
        [sys.executable, "-m", "pio_cli", *COMMAND, "--out", str(out), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    published, truth = map(json.loads, done.stdout.splitlines()[-2:])
    assert (published["reference"], truth["reference"]) == ("published", "fine")
    return out / "diffusion-reaction", published


def models(directory: Path) -> dict[str, bytes]:
    return {p.parent.name: p.read_bytes() for p in directory.glob("runs/*/model.safetensors")}


def test_every_architecture_is_trained_with_every_seed_and_set_beside_the_table(
    whole: tuple[Path, dict[str, Any]],
) -> None:
    directory, found = whole
    assert set(models(directory)) == {"vanilla-0", "vanilla-1", "tl-0", "tl-1"}
    published = {v["variant"]: v["published"]["mean"] for v in found["variants"]}
    assert published == pytest.approx({"tl": 0.0019, "vanilla": 0.00224})
    assert [v["seeds"] for v in found["variants"]] == [[0, 1], [0, 1]]
    assert Path(found["report"]).parent == directory / "against-published"
    assert (directory / "against-fine/report.html").exists()


def test_the_report_says_what_was_scaled_down(whole: tuple[Path, dict[str, Any]]) -> None:
    page = Path(whole[1]["report"]).read_text(encoding="utf-8")
    assert "Scaled down from the published setting, this is the preset &#x27;smoke&#x27;" in page
    assert "steps 200 (published: 120000)" in page
    assert "batches of blocks functions 4, points 8 × 8 (published: tables batch 10000" in page
    assert "arch.width 8 (published: 50)" in page
    assert "optimizer adamw (" not in page  # that much is as published
    assert "arXiv:2509.01679" in page
    assert "Not here, but in the published table: bx, bxtl, bxtg, modified" in page


def again(out: Path, archs: Sequence[str] = ("vanilla", "tl"), **more: Any) -> library.Plan:
    """The plan of `COMMAND`, from Python."""
    settings = dict(setting.split("=") for setting in SMALL)
    options = {"preset": "smoke", "steps": 200, "settings": settings, "out": out, **more}
    return library.plan("diffusion-reaction", archs=archs, **options)


def nothing_trained(run: library.Run) -> bool:
    pytest.fail(f"{run.path} is trained again")


def test_what_is_done_is_not_done_again(whole: tuple[Path, dict[str, Any]]) -> None:
    directory, _ = whole
    before = {p: p.stat().st_mtime_ns for p in directory.glob("runs/*/*")}
    plan = again(directory.parent)
    assert {task.state for task in plan.tasks()} == {"done"}
    found = library.reproduce(plan, train=nothing_trained)
    assert (len(found.runs), found.failed, found.stopped) == (4, {}, False)
    assert {p: p.stat().st_mtime_ns for p in directory.glob("runs/*/*")} == before


def test_a_report_is_on_all_that_ended_whatever_was_asked_for_last(
    whole: tuple[Path, dict[str, Any]],
) -> None:
    plan = again(whole[0].parent, ["tl"], seeds=[1])
    found = library.reproduce(plan, train=nothing_trained)
    names = [run.path.name for run in found.runs]
    assert names == ["tl-0", "tl-1", "vanilla-0", "vanilla-1"]


@pytest.fixture
def copy(whole: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy of what was reproduced, to be spoiled; runs are in `copy / "runs"`."""
    return Path(shutil.copytree(whole[0], tmp_path / "diffusion-reaction"))


def test_errors_that_are_missing_or_of_other_functions_are_measured_again(
    pio: Any, copy: Path
) -> None:
    before = library.compare([copy / "runs"], "vanilla", reference="published")
    (copy / "runs/tl-0/errors.npz").unlink()
    (copy / "runs/tl-1/errors.npz").write_bytes(b"damaged")
    assert pio("evaluate", copy / "runs/vanilla-0", "--seed", 5, "--no-figures").code == 0
    found = pio(*COMMAND, "--out", copy.parent)
    assert found.code == 0, found.err
    after = library.compare([copy / "runs"], "vanilla", reference="published")
    assert [v.mean for v in after.variants] == [v.mean for v in before.variants]


def test_a_run_whose_error_is_no_number_has_failed_and_is_named(pio: Any, copy: Path) -> None:
    with np.load(copy / "runs/tl-1/errors.npz") as file:
        arrays = dict(file)
    arrays["published"][3] = np.nan
    np.savez(copy / "runs/tl-1/errors.npz", **arrays)
    found = pio(*COMMAND, "--out", copy.parent)
    assert found.code == 1
    assert "tl-1: its error is no finite number on 1 of 8 test functions" in found.err
    page = (copy / "against-published/report.html").read_text(encoding="utf-8")
    assert "Failed, and so left out: tl-1 (its error is no finite number" in page


def test_a_comparison_that_cannot_be_made_is_no_end_of_all(
    pio: Any, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy / "against-published/mine.txt").write_text("precious")
    found = pio(*COMMAND, "--out", copy.parent, "--json")
    assert found.code == 1
    assert "diffusion-reaction cannot be compared" in found.err
    assert "mine.txt" in json.loads(found.out.splitlines()[-1])["error"]


def test_what_was_published_beside_another_baseline_is_left_out(copy: Path) -> None:
    plan = again(copy.parent)
    runs = library.reproduce(plan, train=nothing_trained).runs
    comparison, _ = library.conclude(plan, runs)["published"]
    assert comparison.baseline.label == "vanilla"  # modified is not among them
    (tl,) = comparison.others
    assert tl.published == plan.study.published["tl"].alone
    assert tl.published.mean == 0.0019
    assert any("published one is modified" in note for note in comparison.notes)


def test_ranks_and_margin_reach_the_tests(pio: Any, copy: Path) -> None:
    found = pio(*COMMAND, "--out", copy.parent, "--ranks", "published", "--margin", "30%", "--json")
    tl = json.loads(found.out.splitlines()[-1])["variants"][0]
    assert (tl["ranks"], tl["margin"]) == ("published", pytest.approx(0.3))


def test_a_plan_that_says_little_of_itself_is_read_or_refused(pio: Any, copy: Path) -> None:
    kept = json.loads((copy / "plan.json").read_text())
    del kept["timed"]
    (copy / "plan.json").write_text(json.dumps(kept))
    assert len(list(again(copy.parent).tasks())) == 4
    (copy / "plan.json").write_text(json.dumps({**kept, "timed": [1]}))
    found = pio(*COMMAND, "--out", copy.parent)
    assert found.code == 2
    assert "plan.json cannot be read" in found.err


def test_a_signal_that_was_lost_on_its_way_is_kept_in_mind() -> None:
    with terminable():
        for number in (signal.SIGTERM, signal.SIGINT):
            # A callback of the garbage collector, of which JAX has one, does the same.
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(number)
            assert asked()
            with interruptible(lambda text: None) as stop:
                assert stop()
    assert not asked()


def test_nothing_is_begun_by_a_command_that_is_to_stop(tmp_path: Path) -> None:
    plan = again(tmp_path)
    found = library.reproduce(plan, train=nothing_trained, stop=lambda: True)
    assert found.stopped
    assert not (plan.directory / "runs").exists()


def test_a_time_is_that_of_steps_alone_and_timing_them_can_be_stopped(tmp_path: Path) -> None:
    plan = again(tmp_path, ["tl"])
    config = plan.config("tl")
    assert filling(config, plan.registry, 20.0).train.steps > 20
    with pytest.raises(library.PioError, match="too short: a step takes"):
        filling(config, plan.registry, 1e-9)
    with pytest.raises(KeyboardInterrupt):
        filling(config, plan.registry, 1e6, stop=lambda: True)


def test_nobody_else_may_write_until_the_report_is_there(copy: Path) -> None:
    plan = again(copy.parent)
    runs = library.reproduce(plan).runs
    with plan.locked():
        with pytest.raises(library.PioError, match="is being made by another process"):
            library.conclude(again(copy.parent), runs)
        library.conclude(plan, runs)


def test_what_is_left_of_an_interrupted_run_is_what_it_takes(copy: Path) -> None:
    status = copy / "runs/tl-1/status.json"
    about = json.loads(status.read_text())
    status.write_text(json.dumps({**about, "state": "interrupted", "step": 150}))
    assert [task.left for task in again(copy.parent).tasks()] == [0, 0, 0, 0.25]


# ---------------------------------------------------------------------------------------------
# The published setting


def told(name: str, tmp_path: Path, **options: Any) -> tuple[str, ...]:
    """The notes of a plan, as a report has them."""
    plan = library.plan(name, out=tmp_path, **options)
    return tuple(_notes(plan, plan.archs, plan.study.baseline, plan.references[0], True))


TWO = {"archs": ["tl", "modified"]}


def test_the_published_setting_is_called_that(tmp_path: Path) -> None:
    assert told("diffusion-reaction", tmp_path, preset="paper", **TWO)[0] == (
        "This is the published setting."
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 10}, "Scaled down from the published setting: steps 10 (published: 120000)."),
        (
            {"settings": {"optimizer.learning_rate": 0.5}},
            "Differs from the published setting: optimizer.learning_rate 0.5 (published: 0.001).",
        ),
        (
            {"settings": {"steps": 200_000}},
            "Differs from the published setting: steps 200000 (published: 120000).",
        ),
        (
            {"settings": {"embedding.features": 10, "optimizer": "soap"}},
            "optimizer soap (published: adamw); embedding.features 10 (published: 150).",
        ),
    ],
)
def test_whatever_was_changed_is_listed(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    assert words in told("diffusion-reaction", tmp_path, preset="paper", **TWO, **options)[0]


def test_what_differs_for_some_architectures_only_is_listed_with_them(tmp_path: Path) -> None:
    (note, *_) = told("kdv", tmp_path, **TWO)
    assert "arch.also At (published: none)" in note


def test_another_problem_is_not_passed_off_as_the_published_one(tmp_path: Path) -> None:
    changed = {"settings": {"equation.diffusion": 0.5}}
    notes = told("diffusion-reaction", tmp_path, preset="paper", **TWO, **changed)
    assert "equation.diffusion 0.5 (published: 0.01)" in notes[0]
    assert any("They are of another problem" in note for note in notes)


def test_a_published_setting_that_is_not_known_is_not_claimed(write: Any, tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (source,) = [part for part in readme.split("```python\n") if "class Heat" in part]
    study = 'pio.Study({"vanilla": pio.Published(0.02)}, "Fourier (1822)", baseline="vanilla")'
    heat = source.split("```")[0].replace(
        '    unknowns = ("s",)', f'    unknowns = ("s",)\n    studies = {{"heat-2": {study}}}'
    )
    registry = library.discover([str(write("heat.py", heat))])
    (note, *_) = told("heat-2", tmp_path, registry=registry)
    assert note == ("The published setting is not known to pio, so what differs is not listed.")


def test_an_interrupted_one_continues_where_it_was(
    pio: Any, tmp_path: Path, whole: tuple[Path, dict[str, Any]]
) -> None:
    command = [sys.executable, "-m", "pio_cli", *COMMAND, "--out", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    directory = tmp_path / "diffusion-reaction"
    deadline = time.monotonic() + 120
    while not (directory / "runs/vanilla-1/metrics.jsonl").exists():  # the second run has begun
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    if process.returncode == 0:  # it was quicker than the signal
        pytest.skip("all was done before the signal came")
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "vanilla-0" in models(directory)
    assert not list(directory.glob("against-*"))
    found = pio(*COMMAND, "--out", tmp_path)
    assert found.code == 0, found.err
    assert models(directory) == models(whole[0])


BROKEN = '''
    """A network that knows no numbers."""

    from dataclasses import dataclass

    import jax.numpy as jnp

    import pio


    @dataclass(frozen=True)
    class Lost:
        """It multiplies by the root of a negative number."""

        reads = {"all": ("u", "x", "t")}

        def network(self, outputs):
            def apply(params, inputs):
                total = sum(jnp.sum(feature, -1) for feature in inputs["all"])
                return (jnp.sqrt(-jnp.abs(params["w"]) - 1) * total,) * outputs

            return pio.Network(lambda key, inputs: {"w": jnp.ones((), inputs["all"][0].dtype)}, apply)


    @pio.hookimpl
    def pio_architectures():
        return {"lost": Lost}
'''


def test_a_run_that_fails_is_reported_and_leaves_the_others_alone(
    pio: Any, write: Any, tmp_path: Path
) -> None:
    file = write("lost.py", BROKEN)
    names = ("--archs", "lost,vanilla,tl", "--seeds", "0", "--steps", "20")
    choices = [part for part in COMMAND if part not in ("--archs", "vanilla,tl", "--steps", "200")]
    choices = ["train.test_functions=8" if c.startswith("arch.") else c for c in choices]
    found = pio("--plugin", file, *choices, *names, "--out", tmp_path)
    assert found.code == 1
    assert "lost-0: training diverged at step 0" in found.err
    assert "Traceback" not in found.err
    assert set(models(tmp_path / "diffusion-reaction")) == {"vanilla-0", "tl-0"}
    assert (tmp_path / "diffusion-reaction/against-fine/report.html").exists()


def test_a_dry_run_lists_the_runs_and_makes_nothing(pio: Any, tmp_path: Path) -> None:
    timed = ("--time-per-run", "3m", "--archs", "tl,modified", "--out", tmp_path / "out")
    found = pio("reproduce", "diffusion-reaction", *timed, "--dry-run")
    assert found.code == 0
    assert found.out.count("missing") == 4
    assert "all in all about 12 min" in found.out
    assert not (tmp_path / "out").exists()


def test_without_a_name_the_studies_are_listed(pio: Any) -> None:
    found = pio("reproduce", "--json")
    listed = {row["study"]: row for row in map(json.loads, found.out.splitlines())}
    assert listed.keys() == library.studies(library.discover()).keys()
    assert listed["burgers-1e-4"]["options"] == {"nu": 1e-4}
    assert "burgers-1e-4" in pio("reproduce").out


WRONG = {
    "unknown study": (["reproduce", "burger-1e-2"], "did you mean 'burgers-1e-2'"),
    "unsuitable": (["reproduce", "advection", "--archs", "tf"], "does not suit equation"),
    "unknown arch": (["reproduce", "kdv", "--archs", "bxtgg"], "did you mean 'bxtg'"),
    "both": (["reproduce", "kdv", "--steps", "3", "--time-per-run", "3m"], "not both"),
    "no duration": (["reproduce", "kdv", "--time-per-run", "soon"], "--time-per-run is a duration"),
    "no seeds": (["reproduce", "kdv", "--seeds", "3:3"], "--seeds is a range"),
    "no archs": (["reproduce", "kdv", "--archs", ","], "needs an architecture"),
    "arch set": (["reproduce", "kdv", "--set", "arch.name=tl"], "choose with --archs"),
    "seed set": (["reproduce", "kdv", "--set", "seed=3"], "choose with --seeds"),
    "equation set": (["reproduce", "kdv", "--set", "equation=burgers"], "is of equation 'kdv'"),
    "option set": (
        ["reproduce", "burgers-1e-2", "--set", "equation.nu=0.5"],
        "the study 'burgers-1e-2' has nu = 0.01",
    ),
    "steps twice": (["reproduce", "kdv", "--steps", "3", "--set", "steps=4"], "given already"),
    "no margin": (["reproduce", "kdv", "--margin", "wide"], "--margin is a positive difference"),
    "no preset": (["reproduce", "kdv", "--preset", "papre"], "did you mean 'paper'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_command_is_refused_in_one_sentence(pio: Any, case: str, tmp_path: Path) -> None:
    arguments, message = WRONG[case]
    found = pio(*arguments, "--out", tmp_path / "out")
    assert found.code == 2
    assert message in found.err
    assert not (tmp_path / "out").exists()


def test_a_directory_begun_otherwise_is_refused(
    pio: Any, whole: tuple[Path, dict[str, Any]]
) -> None:
    found = pio(*COMMAND, "--steps", "300", "--out", whole[0].parent)
    assert found.code == 2
    assert "was begun with steps 200 and is now asked for steps 300" in found.err


def test_every_study_names_what_there_is() -> None:
    registry = library.discover()
    for name, (equation, study) in library.studies(registry).items():
        problem = registry.make("equation", equation, study.options)
        assert study.baseline in study.published
        # The truth comes first; one that is there beside it is what was published against.
        others = list(problem.references)[1:]
        assert study.reference == (others[0] if others else None)
        plan = library.Plan(name, registry, Path("nowhere"), tuple(study.published))
        for arch in plan.archs:
            config = plan.config(arch)
            library.compose(registry, equation, arch, config.embedding.name)
            assert dict(study.options).items() <= config.equation.options.items()
