"""`pio evaluate` measures a run against every reference, and keeps what it found."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest


def lines(out):
    return [json.loads(line) for line in out.splitlines()]


def test_errors_are_measured_kept_and_drawn(pio, advection_run):
    code, out, err = pio("evaluate", advection_run, "--json")
    assert (code, err) == (0, "")
    exact, box = lines(out)
    assert [exact["reference"], box["reference"]] == ["exact", "box"]
    with np.load(advection_run / "errors.npz") as kept:
        assert kept["exact"].mean() == pytest.approx(exact["mean"])
        assert np.median(kept["box"]) == pytest.approx(box["median"])
    figures = {path.name for path in (advection_run / "figures").iterdir()}
    assert figures == {"curves.png", "errors.png", "predictions.png"}


def test_the_error_is_the_one_that_training_reported(pio, advection_run):
    records = lines((advection_run / "metrics.jsonl").read_text())
    exact, _ = lines(pio("evaluate", advection_run, "--json", "--no-figures").out)
    assert exact["mean"] == pytest.approx(records[-1]["error"], rel=1e-5)
    assert not (advection_run / "figures").exists()


def test_other_functions_have_other_errors(pio, advection_run):
    options = ("--json", "--no-figures", "--functions", 3)
    found = [lines(pio("evaluate", advection_run, *options, "--seed", s).out)[0] for s in (0, 1)]
    assert [row["functions"] for row in found] == [3, 3]
    assert found[0]["mean"] != found[1]["mean"]


def test_as_a_table(pio, advection_run):
    out = pio("evaluate", advection_run, "--no-figures").out
    for part in ("exact", "box", "median", "q3", "%", "errors.npz"):
        assert part in out


def test_what_cannot_be_kept_is_shown_with_a_warning(advection_run, limited, tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path / "empty"))
    before = (advection_run / "errors.npz").read_bytes()
    code, out, err = limited("evaluate", advection_run, "--json", "--functions", 3)
    assert code == 0, err
    assert [row["reference"] for row in lines(out)] == ["exact", "box"]
    (errors,) = [line for line in err.splitlines() if "errors cannot be kept" in line]
    assert "File too large; make" in errors
    (testset,) = [line for line in err.splitlines() if "test set cannot be kept" in line]
    assert testset.startswith("Warning: ")
    assert len(err.splitlines()) == 2, err
    assert (advection_run / "errors.npz").read_bytes() == before


def test_a_changed_config_is_said_and_nothing_is_written(pio, advection_run):
    before = (advection_run / "errors.npz").read_bytes()
    path = advection_run / "config.toml"
    path.write_text(path.read_text().replace("length_scale = 0.2", "length_scale = 0.5"))
    code, out, err = pio("evaluate", advection_run)
    assert (code, out) == (2, "")
    assert "was made with equation.length_scale = 0.2, but its config.toml says 0.5" in err
    assert (advection_run / "errors.npz").read_bytes() == before


@pytest.mark.parametrize("seed", [-1, 2**32, 10**30])
def test_a_seed_that_is_none_is_refused(pio, advection_run, seed):
    code, _, err = pio("evaluate", advection_run, "--seed", seed)
    assert code == 2
    assert "is not in the range" in err


def test_what_is_no_run_is_said(pio, tmp_path):
    code, out, err = pio("evaluate", tmp_path / "nowhere")
    assert (code, out) == (2, "")
    assert "no run in" in err


def test_a_damaged_model_is_said(pio, advection_run):
    path = advection_run / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-3] ^= 0xFF
    path.write_bytes(data)
    code, _, err = pio("evaluate", advection_run)
    assert code == 2
    assert "damaged" in err
    assert "Traceback" not in err


def test_a_run_without_a_model_is_said(pio, advection_run):
    (advection_run / "model.safetensors").unlink()
    shutil.rmtree(advection_run / "checkpoints")
    code, _, err = pio("evaluate", advection_run)
    assert code == 2
    assert "pio resume" in err
