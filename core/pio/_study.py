"""A study: a published comparison of architectures on one equation, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pio._errors import PioError, suggestion
from pio._published import Published
from pio._registry import Registry


@dataclass(frozen=True)
class Study:
    """A table of a publication. `pio reproduce` trains its architectures and sets ours beside it.

    An equation offers its studies by name:

        studies = {"heat-table-2": pio.Study({"vanilla": pio.Published(0.021)}, "Fourier (1822)")}

    `options` are the equation's, where they differ from its defaults. `reference` names the one
    that errors were published against, `baseline` the architecture that others are compared with.
    """

    published: Mapping[str, Published]
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = "modified"
    reference: str | None = None


def studies(registry: Registry) -> dict[str, tuple[str, Study]]:
    """Every study by name, with the name of its equation."""
    found: dict[str, tuple[str, Study]] = {}
    for equation, entries in sorted(registry.of("equation").items()):
        if len(entries) > 1:
            continue  # supplied twice: neither can be used
        offered = getattr(registry.load("equation", equation), "studies", None) or {}
        for name, study in offered.items():
            if name in found:
                raise PioError(
                    f"study {name!r} is offered by equations {found[name][0]!r} and {equation!r}; "
                    "uninstall one, or select plugins with `PIO_PLUGINS`."
                )
            found[name] = (equation, study)
    return found


def find_study(registry: Registry, name: str) -> tuple[str, Study]:
    """The study of a name, with the name of its equation."""
    known = studies(registry)
    if name not in known:
        raise PioError(f"no study named {name!r}{suggestion(name, [*known, 'all'])}")
    return known[name]
