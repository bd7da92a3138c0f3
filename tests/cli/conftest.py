"""Two ways to run `pio`: in this process, which is quick, and as a user does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
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
