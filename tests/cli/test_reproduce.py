"""`pio reproduce`: a table trained, interrupted, continued, and set beside what was published."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pio as library

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
    """A study reproduced in one go, and what was printed of it at the end."""
    out = tmp_path_factory.mktemp("whole")
    done = subprocess.run(
        [sys.executable, "-m", "pio_cli", *COMMAND, "--out", str(out), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out / "diffusion-reaction", json.loads(done.stdout.splitlines()[-1])


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
    assert Path(found["report"]).parent == directory / "against-fine"


def test_the_report_says_what_was_scaled_down(whole: tuple[Path, dict[str, Any]]) -> None:
    page = Path(whole[1]["report"]).read_text(encoding="utf-8")
    assert "Scaled down" in page
    assert "steps 200 (published: 120000)" in page
    assert "batches of blocks functions 4, points 8 × 8 (published: tables batch 10000" in page
    assert "optimizer adamw" not in page  # that much is as published
    assert "arXiv:2509.01679" in page
    assert "Not here, but in the published table: bx, bxtl, bxtg, modified" in page


def test_what_is_done_is_not_done_again(whole: tuple[Path, dict[str, Any]]) -> None:
    directory, _ = whole
    before = {p: p.stat().st_mtime_ns for p in directory.glob("runs/*/*")}
    plan = library.plan(
        "diffusion-reaction",
        archs=["vanilla", "tl"],
        preset="smoke",
        steps=200,
        settings=dict(setting.split("=") for setting in SMALL),
        out=directory.parent,
    )
    assert {task.state for task in plan.tasks()} == {"done"}
    found = library.reproduce(plan, train=lambda run: pytest.fail(f"{run.path} is trained again"))
    assert (len(found.runs), found.failed, found.stopped) == (4, {}, False)
    assert {p: p.stat().st_mtime_ns for p in directory.glob("runs/*/*")} == before


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
    assert not (directory / "against-fine").exists()
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
        assert study.reference is None or study.reference in problem.references
        plan = library.Plan(name, registry, Path("nowhere"), tuple(study.published))
        for arch in plan.archs:
            config = plan.config(arch)
            library.compose(registry, equation, arch, config.embedding.name)
            assert dict(study.options).items() <= config.equation.options.items()
