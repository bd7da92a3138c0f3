"""`pio plugin`: what a plugin's author needs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pio._errors import PioError, suggestion
from pio._json import to_json
from pio._registry import Entry, Registry, _normal, complaint, discover
from pio_cli._new import Names, write
from pio_cli._plugins import Plugins, with_registry
from pio_cli.describe import kind as kind_of
from pio_cli.describe import settings

if TYPE_CHECKING:
    from pio.testing import Result

OURS = "pio-operators"


@click.group()
def plugin() -> None:
    """Begin a plugin of your own, and check that it is right."""


@plugin.command()
@click.argument("kind_", metavar="KIND")
@click.argument("name")
@click.option("--out", metavar="DIR", help="The project's directory.  [default: pio-NAME]")
@with_registry
def new(registry: Registry, kind_: str, name: str, out: str | None) -> None:
    """Write a small project that is a working plugin, to be edited.

    KIND is equation, architecture, weighting or embedding. The project has one module, one test and an entry point;
    as it is written it can be installed, checked and trained with.
    """
    names = Names.of(kind_of(kind_), name)
    path = Path(out or names.distribution)
    files = write(names, path)
    for taken in registry.of(names.kind).get(names.name, ()):
        click.echo(
            f"Warning: {taken} is supplied by {taken.source} too; with both installed the name is refused. "
            "Rename one.",
            err=True,
        )
    place = shlex.quote(os.fspath(path))
    click.echo(f"{path} has a working {names.kind}; {files[4]} is what to edit. Next:\n")
    click.echo(f"  pip install -e {place}")
    click.echo(f"  pio plugin check {names.name}")
    click.echo(f"  {names.table['use']}")


@plugin.command()
@click.argument("target", required=False, metavar="[FILE.py|NAME|DISTRIBUTION]")
@click.option("--kind", "wanted", metavar="KIND", help="Only plugins of this kind.")
@click.option("-k", "only", metavar="TEXT", default="", help="Only checks with this in their name.")
@click.option("--set", "pairs", metavar="KEY=VALUE", multiple=True, help="Change an option.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, for scripts.")
@click.pass_context
def check(
    ctx: click.Context,
    target: str | None,
    wanted: str | None,
    only: str,
    pairs: tuple[str, ...],
    as_json: bool,
) -> int:
    """Check that plugins are right: everything that a file, a name or a distribution supplies.

    Without TARGET, all that is not pio's own. Exits with 1 if a check failed.
    """
    plugins = ctx.ensure_object(Plugins)
    if target is not None and _is_file(target):
        registry = discover((*plugins.files, target))
        entries = [e for e in registry.entries if e.source.path == target]
    else:
        registry = plugins.registry
        entries = _named(registry, target)
    kind = None if wanted is None else kind_of(wanted)
    entries = [e for e in entries if kind in (None, e.kind)]
    if not entries:
        raise PioError(f"{target or 'what is installed'} supplies no {kind}; leave --kind out.")
    if pairs and len(entries) > 1:
        listed = ", ".join(str(e) for e in entries)
        raise PioError(f"--set is for one plugin, and these are {len(entries)}: {listed}.")
    options = settings(pairs, entries[0].kind)
    found = []
    for result in _results(registry, entries, only, options):
        found.append(result)
        if as_json:
            click.echo(to_json(asdict(result), ensure_ascii=False))
    if not found and not _names(entries):
        raise PioError(f"there are no checks of a {entries[0].kind}.")
    if not found:
        raise PioError(f"no check has {only!r} in its name{suggestion(only, _names(entries))}")
    if not as_json:
        _draw(found)
    return int(any(r.state == "failed" for r in found))


def _is_file(target: str) -> bool:
    path = Path(target)
    if path.is_dir():
        raise PioError(
            f"{target} is a directory; install the project in it with `pip install -e {target}`, then check it by its "
            "name, or give the file that has the hooks."
        )
    return path.suffix == ".py" or path.is_file()


def _named(registry: Registry, target: str | None) -> list[Entry]:
    """What goes by a name: plugins, or all of a distribution or entry point."""
    if target is None:
        others = [e for e in registry.entries if e.source.distribution != OURS]
        if not others and not registry.broken:
            raise PioError(
                "no plugins but pio's own are installed; name a file, a plugin or a distribution."
            )
        if not others:
            raise PioError("\n".join(map(complaint, registry.broken)))
        return others
    wanted = _normal(target)
    names = [e for e in registry.entries if e.name == target]
    sources = [
        e
        for e in registry.entries
        if wanted in (_normal(e.source.distribution or ""), _normal(e.source.entry_point or ""))
    ]
    for broken in registry.broken:
        if wanted in (
            _normal(broken.source.distribution or ""),
            _normal(broken.source.entry_point or ""),
        ):
            raise PioError(complaint(broken))
    if not names and not sources:
        known = {e.name for e in registry.entries}
        known |= {e.source.distribution for e in registry.entries if e.source.distribution}
        raise PioError(f"no plugin or distribution named {target!r}{suggestion(target, known)}")
    return names or sources


def _results(
    registry: Registry, entries: Sequence[Entry], only: str, options: Mapping[str, str]
) -> Iterator[Result]:
    from pio_cli._screen import status

    with status("checking") as show:
        show("starting")
        from pio.testing import CHECKS, suite

        for entry in entries:
            registry.find(entry.kind, entry.name)  # which refuses a name that two supply
            if entry.kind not in CHECKS:
                continue
            whole = suite(entry.kind, entry.name, registry=registry, **options)
            yield from whole.results(only, lambda c, e=entry: show(f"{e.name}, {c.name}"))  # type: ignore[misc]


def _names(entries: Sequence[Entry]) -> set[str]:
    from pio.testing import CHECKS

    return {name for e in entries for name in CHECKS.get(e.kind, {})}


MARKS = {
    "passed": ("✓", "green"),
    "advice": ("!", "yellow"),
    "skipped": ("–", "dim"),
    "failed": ("✗", "bold red"),
}


def _draw(results: Sequence[Result]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    things: list[Any] = []
    for key in dict.fromkeys((r.kind, r.name) for r in results):
        own = [r for r in results if (r.kind, r.name) == key]
        table = Table.grid(padding=(0, 2))
        for r in own:
            mark, style = MARKS[r.state]
            said = r.what if r.state in ("failed", "advice") else r.summary
            if r.state == "skipped":
                said = f"{r.summary}: {r.what}"
            table.add_row(Text(mark, style), Text(r.check, style), Text(said))
            if r.mend:
                table.add_row("", "", Text(f"→ {r.mend}", "cyan"))
        things += [Text(" ".join(key), "bold"), Padding(table, (0, 0, 0, 2)), ""]
    count = {state: sum(r.state == state for r in results) for state in MARKS}
    told = ", ".join(f"{n} {state}" for state, n in count.items() if n)
    seconds = sum(r.seconds for r in results)
    draw(*things, Text(f"{told} in {seconds:.0f} s", "red" if count["failed"] else "green"))
