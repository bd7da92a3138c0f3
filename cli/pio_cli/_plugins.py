"""The plugins a command sees: discovered once, when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

import click

from pio._registry import Registry, complaint, discover


class Plugins:
    """The registry of one invocation, with the files given by `--plugin`."""

    files: tuple[str, ...] = ()

    @cached_property
    def registry(self) -> Registry:
        return discover(self.files)

    @cached_property
    def _warned(self) -> None:
        for broken in self.registry.broken:
            click.echo(f"Warning: {complaint(broken)}", err=True)

    def warn(self) -> None:
        """Report plugins that failed to load, once."""
        _ = self._warned


def with_registry(command: Callable[..., Any]) -> Callable[..., Any]:
    """Pass the registry as first argument, after warning about plugins that failed to load."""

    @click.pass_context
    def wrapped(ctx: click.Context, *args: Any, **kwargs: Any) -> Any:
        plugins = ctx.ensure_object(Plugins)
        plugins.warn()
        return ctx.invoke(command, plugins.registry, *args, **kwargs)

    return update_wrapper(wrapped, command)
