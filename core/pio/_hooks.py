"""Hooks: what a plugin may supply, and how it says so.

A plugin is a module, named by an entry point of the group `pio` or given as a file. It implements
any of the hooks below; each returns a mapping from the name on the command line to the thing:

    import pio

    @pio.hookimpl
    def pio_equations():
        return {"heat": pio.Spec("pio_heat.heat:Heat", "s_t = α s_xx")}

A `pio.Spec` is imported when the name is used, so that listing plugins stays fast. A file that is
its own plugin may return the class itself, `{"heat": Heat}`; its summary is then the first line of
its docstring.
"""

# mypy: disable-error-code="empty-body"
# (a hook specification is only ever read)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pluggy

GROUP = "pio"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
"""The mark of a hook: `@pio.hookimpl` above a function named `pio_equations`, say."""


@dataclass(frozen=True)
class Spec:
    """A class or factory by address, imported when first used: `Spec("package.module:Name", "…")`.

    Several names may share a class: `settled` holds the options that make one of them, which are
    then no longer the user's to set.

        {"bx": Spec("package.deeponet:DeepONet", "the branch reads x too", {"variant": "bx"})}
    """

    target: str
    summary: str
    settled: Mapping[str, Any] = field(default_factory=dict)


Supplied = Mapping[str, Spec | Callable[..., Any]]


class Kind(NamedTuple):
    """A kind of plugin: the hook that supplies it and the protocol its products meet."""

    hook: str
    protocol: str | None = None


# Protocols are addresses, imported when a plugin is first used: they need JAX, listing does not.
KINDS: Mapping[str, Kind] = {
    "equation": Kind("pio_equations", "pio._equation:Equation"),
    "architecture": Kind("pio_architectures", "pio._architecture:Architecture"),
    "weighting": Kind("pio_weightings", "pio._weighting:Weighting"),
    "embedding": Kind("pio_embeddings", "pio._embedding:Embedding"),
    "optimizer": Kind("pio_optimizers", "pio._optimizer:Optimizer"),
    "tracker": Kind("pio_trackers", "pio._tracker:Tracker"),
    "command": Kind("pio_commands"),
}


@hookspec
def pio_equations() -> Supplied:
    """Equations: `pio train --equation NAME`. Each makes a `pio.Equation`."""


@hookspec
def pio_architectures() -> Supplied:
    """Architectures: `pio train --arch NAME`. Each makes a `pio.Architecture`."""


@hookspec
def pio_weightings() -> Supplied:
    """Loss weightings: `pio train --weighting NAME`. Each makes a `pio.Weighting`."""


@hookspec
def pio_embeddings() -> Supplied:
    """Embeddings of coordinates: `pio train --embedding NAME`. Each makes a `pio.Embedding`."""


@hookspec
def pio_optimizers() -> Supplied:
    """Optimisers: `pio train --optimizer NAME`. Each makes a `pio.Optimizer`."""


@hookspec
def pio_trackers() -> Supplied:
    """Trackers: `pio train --tracker NAME`. Each makes a `pio.Tracker`."""


@hookspec
def pio_commands() -> Supplied:
    """Subcommands of `pio`. Each is a `click.Command`; give a `pio.Spec` so that help stays fast."""
