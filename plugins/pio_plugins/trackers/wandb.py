"""Weights & Biases: curves of many runs, on a server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pio


@dataclass(eq=False)
class WandB:
    """One W&B run per run directory; a resumed run goes on with its own."""

    project: str = pio.option("pio", "the project to log to")
    entity: str | None = pio.option(None, "the user or team; none is your default")
    mode: Literal["online", "offline", "disabled"] = pio.option("online", "offline logs to disk")
    _module: Any = field(init=False, repr=False)
    _run: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._module = pio.extra("wandb")  # before anything is begun

    def start(self, directory: Path, config: Mapping[str, Any]) -> None:
        self._run = self._module.init(
            project=self.project,
            entity=self.entity,
            mode=self.mode,
            name=directory.name,
            # The same directory is the same run, in whatever process.
            id=hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16],
            resume="allow",
            dir=str(directory),
            config=dict(pio.by_path(config)),
        )

    def log(self, record: Mapping[str, Any]) -> None:
        self._run.log(dict(pio.scalars(record)), step=record["step"])

    def finish(self) -> None:
        if self._run is not None:
            self._run.finish()
