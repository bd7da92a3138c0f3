"""`pio plugins`: what can be named, and who supplies it."""

from __future__ import annotations

from typing import Any

import click

from pio._hooks import KINDS
from pio._json import to_json
from pio._registry import Entry, Registry, complaint
from pio_cli._main import OWN
from pio_cli._plugins import Plugins

# A distribution that takes longer to list than this probably imports JAX to do so.
SLOW = 0.3


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for scripts.")
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List what can be named on the command line, and who supplies it.

    A plugin that failed to load, or a name supplied twice, is shown with what to do about it.
    Set PIO_STRICT_PLUGINS=1 to see the traceback of a broken plugin.

    PIO_PLUGINS=a,b loads only the plugins named, by distribution or by entry point; ours is
    'builtin' of 'pio-operators'.
    """
    registry = ctx.ensure_object(Plugins).registry
    if as_json:
        click.echo(to_json(_as_json(registry), ensure_ascii=False, indent=2))
    else:
        _draw(registry)


def _as_json(registry: Registry) -> dict[str, Any]:
    return {
        "plugins": [
            {
                "kind": entry.kind,
                "name": entry.name,
                "summary": entry.summary,
                "distribution": entry.source.distribution,
                "version": entry.source.version,
                "path": entry.source.path,
            }
            for entry in _ordered(registry)
        ],
        "broken": [{"source": str(b.source), "reason": b.reason} for b in registry.broken],
        "conflicts": list(registry.conflicts()),
    }


def _ordered(registry: Registry) -> list[Entry]:
    """Kind by kind; within a kind as the plugins list them."""
    return [e for kind in KINDS for entries in registry.of(kind).values() for e in entries]


def _draw(registry: Registry) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    table = Table("kind", "name", "summary", "supplied by", box=SIMPLE_HEAD, pad_edge=False)
    previous = ""
    for entry in _ordered(registry):
        twice = len(registry.of(entry.kind)[entry.name]) > 1
        table.add_row(
            entry.kind if entry.kind != previous else "",
            Text(entry.name, "red" if twice else "bold"),
            Text(entry.summary),
            Text(str(entry.source)),
        )
        previous = entry.kind
    problems = [*map(complaint, registry.broken), *registry.conflicts(), *_notes(registry)]
    draw(
        table if registry.entries else "No plugins are loaded; is PIO_PLUGINS set?",
        *(Text(f"! {problem}", "red") for problem in problems),
    )


def _notes(registry: Registry) -> list[str]:
    slow = [
        f"plugin '{plugin.source}' took {plugin.seconds:.1f} s to list; its hooks should return "
        "pio.Spec, which is imported when used."
        for plugin in registry.plugins
        if plugin.seconds > SLOW and plugin.source.distribution
    ]
    hidden = [
        f"{entry} of '{entry.source}' is hidden by pio's own; rename it."
        for entry in registry.entries
        if entry.kind == "command" and entry.name in OWN
    ]
    return slow + hidden
