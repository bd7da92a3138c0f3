"""Two ways to run `pio`: in this process, which is quick, and as a user does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from pio_cli._main import run


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Pio = Callable[..., Outcome]


@pytest.fixture
def pio(capsys: pytest.CaptureFixture[str]) -> Pio:
    """`pio("plugins", "--json")` in this process."""

    def pio(*arguments: object) -> Outcome:
        code = run([str(a) for a in arguments])
        return Outcome(code, *capsys.readouterr())

    return pio


@pytest.fixture
def shell() -> Pio:
    """`shell("plugins", "--json")` in a process of its own."""

    def shell(*arguments: object) -> Outcome:
        command = [sys.executable, "-m", "pio_cli", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return shell


@pytest.fixture
def limited() -> Pio:
    """`shell`, where files may not grow beyond a few bytes: a full disk."""

    def limited(*arguments: object) -> Outcome:
        code = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); "
            "from pio_cli._main import run; sys.exit(run(sys.argv[1:]))"
        )
        command = [sys.executable, "-c", code, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return limited


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of advection, really trained, once. Copy it to change it."""
    home = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(home / "cache"))
        choices = ("--equation", "advection", "--arch", "vanilla", "--preset", "smoke")
        sizes = ("--set", "arch.width=8", "--set", "arch.depth=1", "--steps", "12")
        assert run(["train", *choices, *sizes, "--out", str(home / "run")]) == 0
    return home


@pytest.fixture
def advection_run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that run, with the test set it was measured on."""
    monkeypatch.setenv("PIO_CACHE_DIR", str(trained / "cache"))
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))
