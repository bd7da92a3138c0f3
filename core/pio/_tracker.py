"""A tracker: someone who follows a run from outside."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pio._errors import PioError


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


def by_path(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested mappings by path: `squares/residual`."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from by_path(value, f"{prefix}{name}/")
        else:
            yield prefix + name, value


def scalars(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a record by path; what is no number is left out."""
    for name, value in by_path(record):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, float(value)


def extra(module: str, name: str | None = None) -> Any:
    """A module of one of our optional extras, or how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = name or module
        raise PioError(
            f"tracker {name!r} needs {module}, which cannot be imported ({error}); "
            f"run: pip install 'pio-operators[{name}]'"
        ) from error
