"""Trackers pass records on, and say what to install."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

import pio

REGISTRY = pio.discover()
MODULES = {"tensorboard": "tensorboardX", "wandb": "wandb", "mlflow": "mlflow"}
RECORD = {"step": 7, "loss": 0.5, "squares": {"residual": 0.25}, "note": "no number"}


def test_every_tracker_is_tested_here():
    assert set(REGISTRY.of("tracker")) == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_a_missing_extra_is_named_with_the_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, MODULES[name], None)
    with pytest.raises(pio.PioError, match=rf"pip install 'pio-operators\[{name}\]'"):
        REGISTRY.make("tracker", name)


def test_records_become_numbers_by_path():
    assert dict(pio.scalars(RECORD)) == {"step": 7.0, "loss": 0.5, "squares/residual": 0.25}


@pytest.mark.parametrize("name", MODULES)
def test_every_number_of_a_record_arrives_with_its_step(name, monkeypatch, tmp_path):
    module = MagicMock()
    module.MlflowClient.return_value.search_runs.return_value = []
    monkeypatch.setitem(sys.modules, MODULES[name], module)
    tracker = REGISTRY.make("tracker", name)
    tracker.finish()  # a run may end before it starts
    tracker.start(tmp_path, {"train": {"steps": 10}})
    tracker.log(RECORD)
    tracker.finish()
    calls = [str(call) for call in module.mock_calls]
    assert any("train/steps" in call for call in calls)
    logged = [call for call in calls if "squares/residual" in call]
    assert logged
    assert all("0.25" in call and "7" in call for call in logged)


def test_mlflow_goes_on_with_the_run_of_a_directory(monkeypatch, tmp_path):
    module = MagicMock()
    client = module.MlflowClient.return_value
    client.search_runs.return_value = [SimpleNamespace(info=SimpleNamespace(run_id="before"))]
    monkeypatch.setitem(sys.modules, "mlflow", module)
    tracker = REGISTRY.make("tracker", "mlflow")
    tracker.start(tmp_path, {})
    tracker.finish()
    client.create_run.assert_not_called()
    client.set_terminated.assert_called_once_with("before")
