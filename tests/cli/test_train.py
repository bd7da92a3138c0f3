"""`pio train`, `pio resume` and `pio runs`, as a user and a crash meet them."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pio import PioError
from pio_cli.train import parse_duration

SMOKE = ("--equation", "advection", "--arch", "vanilla", "--preset", "smoke")
QUICK = (*SMOKE, "--optimizer", "adamw", "--set", "train.test_functions=2")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Test sets and compiled programs are made once for all these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def start(*arguments: object, limit: int | None = None) -> subprocess.Popen[str]:
    """A process of its own, whose files may not grow beyond a limit."""
    code = "import sys; from pio_cli._main import run; sys.exit(run(sys.argv[1:]))"
    if limit is not None:
        code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {code}"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def same(run: Path, other: Path) -> bool:
    names = ("model.safetensors", "errors.npz")
    return all((run / n).read_bytes() == (other / n).read_bytes() for n in names)


def metrics(run: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if "second" not in k} for r in found]


@pytest.fixture(scope="module")
def long(cache: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[str, ...]]:
    """A run that nobody interrupts, and its command."""
    path = tmp_path_factory.mktemp("long") / "run"
    command = ("train", *QUICK, "--steps", "1500", "--set", "run.checkpoint_seconds=0.05")
    code, out, err = finish(start(*command, "--json", "--out", path))
    assert code == 0, err
    records = [json.loads(line) for line in out.splitlines()]
    assert [r["step"] for r in records[:-1]] == [r["step"] for r in metrics(path)]
    assert records[-1]["state"] == "done"
    assert "Error" not in err
    assert "step 1500/1500" in err
    return path, command


def test_the_config_of_a_run_makes_the_same_run(
    long: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    path, _ = long
    config = path / "config.toml"
    code, out, err = finish(start("train", "--config", config, "--out", tmp_path / "run"))
    assert code == 0, err
    assert out.startswith(f"{tmp_path / 'run'}: test error")
    assert same(path, tmp_path / "run")
    assert config.read_bytes() == (tmp_path / "run" / "config.toml").read_bytes()


def test_a_run_killed_at_random_moments_ends_as_one_that_was_not(
    long: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    path, command = long
    run = tmp_path / "run"
    chance = random.Random(seed := random.randrange(10**6))
    log = run / "metrics.jsonl"

    def recorded() -> int:
        return len(log.read_bytes().splitlines()) if log.exists() else 0

    signals = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGTERM]
    codes = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 130, signal.SIGINT: 130}
    interrupted = 0
    for number in signals:
        begun = (run / "config.toml").exists()
        before = recorded()
        process = start(*(["resume", run] if begun else [*command, "--out", run]))
        while process.poll() is None and recorded() <= before:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(number)
        code, _, err = finish(process)
        if (run / "model.safetensors").exists():
            break
        interrupted += 1
        assert code == codes[number], (seed, err)
    code, _, err = finish(start("resume", run))
    assert code == 0, (seed, err)
    assert interrupted >= 1, seed
    assert same(path, run), seed
    assert metrics(path) == metrics(run), seed


def test_a_full_disk_ends_in_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    code, _, err = finish(start("train", *QUICK, "--out", run, limit=8192))
    assert code == 1
    errors = [line for line in err.splitlines() if line.startswith("Error")]
    assert len(errors) == 1
    assert "File too large; make room, then continue with `pio resume" in errors[0]
    assert "Traceback" not in err
    code, _, err = finish(start("resume", run))
    assert code == 0, err


def test_divergence_exits_with_1(tmp_path: Path) -> None:
    wild = ("--set", "optimizer.learning_rate=1e30", "--out", tmp_path / "run")
    code, _, err = finish(start("train", *QUICK, *wild))
    assert code == 1
    assert "diverged at step" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "failed"


def test_a_dry_run_shows_a_config_and_its_cost_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, shown, err = finish(start("train", *QUICK, "--dry-run", "--out", out))
    assert code == 0, err
    assert tomllib.loads(shown)["arch"]["name"] == "vanilla"
    assert "# parameters" in shown
    assert "# memory of a step" in shown
    assert not out.exists()


def test_runs_lists_what_there_is(pio: Any, long: tuple[Path, tuple[str, ...]]) -> None:
    path, _ = long
    (row,) = map(json.loads, pio("runs", path.parent, "--json").out.splitlines())
    assert (row["equation"], row["state"], row["step"]) == ("advection", "done", 1500)
    assert "advection" in pio("runs", path.parent).out
    assert pio("runs", path.parent / "none").code == 2


def test_a_damaged_model_is_refused_in_one_sentence(
    pio: Any, long: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    path, _ = long
    (tmp_path / "config.toml").write_bytes((path / "config.toml").read_bytes())
    data = bytearray((path / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(data)
    arguments = ("--init-from", tmp_path, "--out", tmp_path / "run")
    code, _, err = finish(start("train", *QUICK, *arguments))
    assert code == 2
    assert "damaged: its checksum is wrong" in err


def test_seeds_make_a_run_each(tmp_path: Path) -> None:
    together, alone = tmp_path / "together", tmp_path / "alone"
    code, out, err = finish(start("train", *QUICK, "--seeds", "1:3", "--out", together))
    assert code == 0, err
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        str(together / "1"),
        str(together / "2"),
    ]
    code, _, err = finish(start("train", *QUICK, "--seed", "2", "--out", alone))
    assert code == 0, err
    assert same(together / "2", alone)


WRONG = {
    "unknown option": (["--widht", "3"], "No such option"),
    "unknown equation": (["--equation", "advectoin"], "did you mean 'advection'"),
    "unknown setting": (["--set", "arch.widht=3"], "did you mean 'width'"),
    "no value": (["--set", "arch.width"], "key=value"),
    "wrong type": (["--set", "arch.width=wide"], "type int; got 'wide'"),
    "steps and time": (["--steps", "3", "--time", "3s"], "not both"),
    "seed and seeds": (["--seed", "3", "--seeds", "0:4"], "not both"),
    "no seeds": (["--seeds", "4:4"], "0:4"),
    "seed twice": (["--seeds", "1,5,1"], "names 1 twice"),
    "large seed": (["--seeds", f"{2**32}"], "from 0 to 2³² - 1"),
    "negative seeds": (["--seeds", "-2:1"], "from 0 to 2³² - 1"),
    "many seeds": (["--seeds", "0:3000000000"], "asks for 3000000000 runs"),
    "no functions": (["--set", "sampling.functions=0"], "sampling.functions is at least 1 (got 0)"),
    "many steps": (["--steps", f"{2**31}"], "train.steps is below 2³¹"),
    "endless": (["--time", "9" * 400], "is a duration"),
    "long path": (["--out", "a" * 300], "cannot read"),
    "no average": (["--set", "optimizer.b1=1"], "optimizer.b1 is at least 0 and below 1"),
    "no duration": (["--time", "soon"], "90s, 10m or 1h30m"),
    "impossible together": (["--weighting", "brdr"], "brdr"),
    "no such run": (["--init-from", "nowhere"], "no run in nowhere"),
    "no such tracker": (["--tracker", "tensorbord"], "did you mean 'tensorboard'"),
    "no directory": (["--out", os.devnull + "/run"], "cannot write to"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_command_is_refused_in_one_sentence(
    pio: Any, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more, message = WRONG[case]
    found = pio("train", *QUICK, *more)
    assert found.code == 2
    assert message in found.err
    assert "Traceback" not in found.err
    assert not list(tmp_path.iterdir())


def test_a_directory_that_cannot_be_written_is_named(pio: Any, tmp_path: Path) -> None:
    home = tmp_path
    home.chmod(0o500)
    if os.access(home, os.W_OK):  # root writes anywhere but to what the kernel keeps for itself
        home = Path("/sys")
    if not home.is_dir():
        pytest.skip("nothing here that root cannot write to")
    found = pio("train", *QUICK, "--out", home / "run")
    assert found.code == 2
    assert f"cannot write to {home / 'run'}: " in found.err
    assert "choose another with --out" in found.err


SHELL = f"{shlex.quote(sys.executable)} -m pio_cli"


def by_shell(command: str) -> tuple[int, str]:
    """A line for a shell; its exit code, and what it says on stderr."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_a_reader_that_leaves_is_an_interruption(tmp_path: Path) -> None:
    train = shlex.join(["train", *QUICK, "--steps", "5000", "--json", "--out", f"{tmp_path}/run"])
    code, err = by_shell(f"{SHELL} {train} | head -1")
    assert code == 130, err
    assert "continue with `pio resume" in err
    assert "Traceback" not in err
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert status["state"] == "interrupted"
    assert status["step"] > 0
    assert (tmp_path / "run" / "checkpoints" / str(status["step"])).is_dir()


def test_a_reader_of_notes_that_leaves_is_an_interruption(tmp_path: Path) -> None:
    train = shlex.join(["train", *QUICK, "--steps", "5000", "--out", f"{tmp_path}/run"])
    code, _ = by_shell(f"{SHELL} {train} 2>&1 | head -1")
    assert code == 130
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "interrupted"


def test_a_closed_stdout_gets_no_result_and_no_complaint(tmp_path: Path) -> None:
    train = shlex.join(["train", *QUICK, "--steps", "3", "--out", f"{tmp_path}/run"])
    code, err = by_shell(f"{SHELL} {train} >&-")
    assert code == 0, err
    assert "Traceback" not in err
    assert by_shell(f"{SHELL} runs {tmp_path} >&-") == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_stdout_is_one_sentence_and_exit_1(
    long: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    full = "cannot write to stdout: No space left on device."
    for command in (f"runs {long[0]}", f"runs {long[0]} --json", "plugins", "--help"):
        assert by_shell(f"{SHELL} {command} > /dev/full") == (1, f"Error: {full}\n"), command
    train = shlex.join(["train", *QUICK, "--steps", "5000", "--json", "--out", f"{tmp_path}/run"])
    code, err = by_shell(f"{SHELL} {train} > /dev/full")
    assert code == 1
    assert err.splitlines()[-1] == f"Error: {full}"
    assert "continue with `pio resume" in err
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "interrupted"


@pytest.mark.parametrize("text", ["[]", "null", '{"state": 3}', '{"state": "done", "error": "y"}'])
def test_one_bad_status_leaves_the_other_runs_to_be_listed(
    pio: Any, long: tuple[Path, tuple[str, ...]], tmp_path: Path, text: str
) -> None:
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
        for file in ("config.toml", "status.json"):
            (tmp_path / name / file).write_bytes((long[0] / file).read_bytes())
    (tmp_path / "bad" / "status.json").write_text(text)
    rows = map(json.loads, pio("runs", tmp_path, "--json").out.splitlines())
    assert {Path(r["run"]).name: r["state"] for r in rows} == {"good": "done", "bad": "damaged"}
    found = pio("runs", tmp_path)
    assert (found.code, "damaged" in found.out) == (0, True)


def test_an_optimizer_that_is_too_fast_is_told_its_usual_rate(tmp_path: Path) -> None:
    wild = ("--set", "optimizer.learning_rate=1e20", "--out", tmp_path / "run")
    _, _, err = finish(start("train", *QUICK, *wild))
    assert "Try --set optimizer.learning_rate=0.001 or" in err


def test_parameters_that_fit_nothing_leave_no_directory(
    pio: Any, long: tuple[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    other = ("--set", "arch.width=9", "--arch", "modified", "--init-from", long[0])
    for _ in range(2):
        found = pio("train", *QUICK, *other, "--out", tmp_path / "run")
        assert found.code == 2
        assert "no parameter of equal name and shape" in found.err
    assert not (tmp_path / "run").exists()


def test_resume_of_nothing_is_refused(pio: Any, tmp_path: Path) -> None:
    found = pio("resume", tmp_path)
    assert found.code == 2
    assert "no run in" in found.err


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5h", 5400)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10x", "-3m", "0"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(PioError, match="duration"):
        parse_duration(text)
