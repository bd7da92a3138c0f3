"""MLflow: runs of an experiment, on a tracking server or in a directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pio

TAG = "pio.directory"


@dataclass(eq=False)
class MLflow:
    """One MLflow run per run directory; a resumed run goes on with its own."""

    experiment: str = pio.option("pio", "the experiment to log to")
    uri: str | None = pio.option(
        None, "the tracking server; none is MLFLOW_TRACKING_URI or ./mlruns"
    )
    _module: Any = field(init=False, repr=False)
    _client: Any = field(default=None, init=False, repr=False)
    _run: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        self._module = pio.extra("mlflow")  # before anything is begun

    def start(self, directory: Path, config: Mapping[str, Any]) -> None:
        client = self._module.MlflowClient(tracking_uri=self.uri)
        found = client.get_experiment_by_name(self.experiment)
        experiment = found.experiment_id if found else client.create_experiment(self.experiment)
        home = str(directory.resolve())
        before = client.search_runs([experiment], f"tags.`{TAG}` = '{home}'", max_results=1)
        self._client = client
        if before:
            self._run = before[0].info.run_id
            return
        made = client.create_run(experiment, tags={TAG: home}, run_name=directory.name)
        self._run = made.info.run_id
        for name, value in pio.by_path(config):
            client.log_param(self._run, name, value)

    def log(self, record: Mapping[str, Any]) -> None:
        for name, value in pio.scalars(record):
            self._client.log_metric(self._run, name, value, step=record["step"])

    def finish(self) -> None:
        if self._client is not None:
            self._client.set_terminated(self._run)
