"""`pio train --data`: measurements, as a user gives them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SMOKE = (
    "--equation",
    "advection",
    "--arch",
    "vanilla",
    "--preset",
    "smoke",
    "--optimizer",
    "adamw",
)
QUICK = (*SMOKE, "--set", "train.test_functions=2", "--steps", "3")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    some = np.linspace(0, 1, 9)
    np.savez("data.npz", u=np.full(101, 1.5), x=some, t=some, s=some)


def test_a_run_is_trained_on_measurements_and_keeps_to_them(pio: Any) -> None:
    found = pio("train", *QUICK, "--data", "data.npz", "--json", "--out", "run")
    assert found.code == 0, found.err
    record, *_ = map(json.loads, found.out.splitlines())
    assert set(record["squares"]) == {"residual", "data"}
    section = tomllib.loads(Path("run/config.toml").read_text())["data"]
    assert section["file"] == str(Path("data.npz").absolute())
    assert len(section["sha256"]) == 64
    Path("data.npz").write_bytes(b"")
    assert pio("resume", "run").code == 0  # it has ended
    Path("run/errors.npz").unlink()
    again = pio("resume", "run")
    assert again.code == 2
    assert "data.npz has changed since the run was made" in again.err
    assert "Traceback" not in again.err
    assert pio("evaluate", "run", "--no-figures").code == 0


WRONG = {
    "no file": (["--data", "none.npz"], "cannot read measurements from"),
    "no arrays": (["--data", "text.npz"], "is no .npz file"),
    "outside": (["--data", "outside.npz"], "x runs from 0 to 1"),
    "no batch": (["--data", "data.npz", "--set", "data.batch=0"], "data.batch is at least 1"),
    "batch of nothing": (["--set", "data.batch=8"], "--data FILE.npz"),
    "misspelt": (["--set", "data.flie=data.npz"], "did you mean 'file'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_measurements_are_refused_and_nothing_is_begun(pio: Any, case: str) -> None:
    Path("text.npz").write_text("x,t,s")
    some = np.linspace(0, 2, 9)
    np.savez("outside.npz", u=np.full(101, 1.5), x=some, t=some / 2, s=some)
    more, message = WRONG[case]
    found = pio("train", *QUICK, *more, "--out", "run")
    assert found.code == 2
    assert message in found.err
    assert "Traceback" not in found.err
    assert not Path("run").exists()
