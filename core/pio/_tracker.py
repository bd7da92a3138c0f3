"""A tracker: someone who follows a run from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Tracker(Protocol):
    """A consumer of the records a run yields.

    `start` is called once, with the run's directory and its resolved config, before the first
    record; again, in a new process, when the run is resumed. `log` gets each record as a line of
    `metrics.jsonl` has it. `finish` is called once, however the run ends.

        tracker.start(directory, config)
        try:
            for record in records:
                tracker.log(record)
        finally:
            tracker.finish()
    """

    def start(self, directory: Path, config: Mapping[str, Any]) -> None: ...

    def log(self, record: Mapping[str, Any]) -> None: ...

    def finish(self) -> None: ...


def scalars(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a record by path, `squares/residual`; what is no number is left out."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from scalars(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield prefix + name, float(value)
