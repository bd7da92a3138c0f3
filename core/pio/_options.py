"""Options: the dataclass fields of a plugin, with the help a user reads."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


def option(default: Any, help: str) -> Any:
    """A dataclass field that explains itself: `nu: float = pio.option(1e-2, "viscosity")`."""
    return dataclasses.field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Option:
    """One option as a user sees it."""

    name: str
    type: str
    default: Any
    help: str


def options(plugin: type) -> tuple[Option, ...]:
    """The options of a plugin's class, in order. A factory that is no dataclass has none."""
    if not dataclasses.is_dataclass(plugin):
        return ()
    return tuple(
        Option(
            f.name,
            f.type if isinstance(f.type, str) else getattr(f.type, "__name__", str(f.type)),
            None if f.default is dataclasses.MISSING else f.default,
            f.metadata.get("help", ""),
        )
        for f in dataclasses.fields(plugin)
        if f.init
    )
