"""TensorBoard: curves of a run, `tensorboard --logdir RUN`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pio


@dataclass(eq=False)
class TensorBoard:
    """Event files in the run's directory, written by tensorboardX, which needs no TensorFlow."""

    subdirectory: str = pio.option("tensorboard", "where in the run's directory")
    _module: Any = field(init=False, repr=False)
    _writer: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._module = pio.extra("tensorboardX", "tensorboard")  # before anything is begun

    def start(self, directory: Path, config: Mapping[str, Any]) -> None:
        self._writer = self._module.SummaryWriter(str(directory / self.subdirectory))
        rows = "\n".join(f"    {name} = {value}" for name, value in pio.by_path(config))
        self._writer.add_text("config", rows)

    def log(self, record: Mapping[str, Any]) -> None:
        for name, value in pio.scalars(record):
            self._writer.add_scalar(name, value, record["step"])

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
