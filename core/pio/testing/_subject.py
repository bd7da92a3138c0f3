"""A subject: the plugin that is checked, and what it is checked with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pio._errors import PioError
from pio._registry import Entry, Registry, Source, discover, first_line


@dataclass(frozen=True, eq=False)
class Subject:
    """A plugin by kind and name in a registry, with options that differ from its defaults."""

    kind: str
    name: str
    registry: Registry
    options: Mapping[str, Any] = field(default_factory=dict)
    found: dict[Any, Any] = field(default_factory=dict, repr=False)
    failed: dict[str, str] = field(default_factory=dict, repr=False)
    raised: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        kind: str,
        plugin: Any,
        options: Mapping[str, Any] | None = None,
        registry: Registry | None = None,
    ) -> Subject:
        """A plugin by its name, or by the class or function that makes it."""
        registry = discover() if registry is None else registry
        registry.of(kind)  # which refuses kinds that there are not
        given = dict(options or {})
        if isinstance(plugin, str):
            registry.find(kind, plugin)
            return cls(kind, plugin, registry, given)
        if not callable(plugin):
            raise PioError(
                f"a suite takes the name of a plugin, or the class that makes it (got {plugin!r}); "
                "options are keywords."
            )
        name = _kebab(getattr(plugin, "__name__", kind))
        entry = Entry(kind, name, plugin, first_line(plugin), Source())
        others = tuple(e for e in registry.entries if (e.kind, e.name) != (kind, name))
        return cls(kind, name, replace(registry, entries=(*others, entry), _loaded={}), given)

    @cached_property
    def product(self) -> Any:
        """The plugin, made with its options."""
        return self.registry.make(self.kind, self.name, self.options)

    @property
    def entry(self) -> Entry:
        return self.registry.find(self.kind, self.name)

    @property
    def noun(self) -> str:
        """What its author calls it: the name of its class."""
        return type(self.product).__name__

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


def _kebab(name: str) -> str:
    """`DiffusionReaction` as `diffusion-reaction`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").strip("-").lower()
