"""`pio describe`: one plugin, with its mathematics, its options and its source."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

import click

from pio._errors import PioError, suggestion
from pio._hooks import KINDS
from pio._json import to_json
from pio._options import REQUIRED, Option, options
from pio._registry import Registry, documentation, reason, unwrap
from pio_cli._complete import described, kinds, names
from pio_cli._explain import EXPLAIN
from pio_cli._plugins import with_registry


def kind(text: str) -> str:
    """A kind by its name or any beginning of it that leaves no doubt: `eq`, `arch`."""
    word = text.lower()
    found = [k for k in KINDS if k.startswith(word) or f"{k}s" == word]
    if not word or not found:
        raise PioError(f"no kind of plugin named {text!r}{suggestion(text, KINDS)}")
    if len(found) > 1:
        raise PioError(f"{text!r} may mean {' or '.join(found)}; write one more letter.")
    return found[0]


def settings(pairs: tuple[str, ...], kind: str) -> dict[str, str]:
    """Options from `--set nu=1e-3`; `--set equation.nu=1e-3`, as `pio train` has it, is welcome."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise PioError(f"--set takes key=value (got {pair!r}).")
        found[key.removeprefix(f"{kind}.")] = value
    return found


@click.command()
@click.argument("kind_", metavar="KIND", shell_complete=kinds)
@click.argument("name", shell_complete=described)
@click.option("--set", "pairs", metavar="KEY=VALUE", multiple=True, help="Change an option.")
@click.option(
    "--equation",
    "example",
    shell_complete=names("equation"),
    help="Count an architecture's cost with it.  [default: kdv]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for scripts.")
@with_registry
def describe(
    registry: Registry,
    kind_: str,
    name: str,
    pairs: tuple[str, ...],
    example: str | None,
    as_json: bool,
) -> None:
    """Explain one plugin: its mathematics, its options and where it comes from.

    KIND is equation, architecture, weighting, embedding, optimizer, tracker or command, or the
    beginning of one: `pio describe eq kdv`.
    """
    page = _page(registry, kind(kind_), name, pairs, example)
    if as_json:
        click.echo(to_json(page, ensure_ascii=False, indent=2, default=str))
    else:
        _draw(page)


def _page(
    registry: Registry, kind: str, name: str, pairs: tuple[str, ...], example: str | None
) -> dict[str, Any]:
    entry = registry.find(kind, name)
    factory = registry.load(kind, name)
    given = settings(pairs, kind)
    known = () if kind == "command" else options(factory)
    needy = [o.name for o in known if o.default is REQUIRED and o.name not in given]
    rows = []
    if (given and kind != "command") or (kind in EXPLAIN and not needy):
        product = registry.make(kind, name, given)  # which checks the options given
        try:
            rows = list(EXPLAIN[kind](product, registry, example)) if kind in EXPLAIN else []
        except PioError:
            raise
        except Exception as error:
            raise PioError(
                f"{entry} ({entry.source}) cannot be explained: {reason(error)}"
            ) from error
    return {
        "kind": kind,
        "name": name,
        "summary": entry.summary,
        "documentation": "\n\n".join(filter(None, [_module_doc(factory), documentation(factory)])),
        "details": [{"label": label, "text": text} for label, text in rows],
        "options": [_option(o, given) for o in known],
        "distribution": entry.source.distribution,
        "version": entry.source.version,
        "file": _file(factory) or entry.source.path,
    }


def _option(option: Option, given: Mapping[str, str]) -> dict[str, Any]:
    required = option.default is REQUIRED
    return {
        "name": option.name,
        "type": option.type_name,
        "required": required,
        "default": None if required else option.default,
        "given": given.get(option.name),
        "help": option.help,
    }


def _module_doc(factory: Any) -> str:
    """The docstring of its file, where an equation states its PDE."""
    module = sys.modules.get(getattr(unwrap(factory), "__module__", ""))
    return inspect.getdoc(module) or ""


def _file(factory: Any) -> str | None:
    try:
        return inspect.getsourcefile(unwrap(factory))
    except TypeError:
        return None


def _draw(page: Mapping[str, Any]) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    who = f"{page['distribution']} {page['version']}" if page["distribution"] else "a single file"
    sections: dict[str, list[tuple[str, ...]]] = {
        "Details": [(row["label"], row["text"]) for row in page["details"]],
        "Options": [_option_row(option) for option in page["options"]],
        "Source": [(who, page["file"] or "")],
    }
    things: list[Any] = [Text(f"{page['kind']} {page['name']}: {page['summary']}", "bold")]
    # The title says it already, where the summary is the first line of the class.
    paragraphs = [part for part in page["documentation"].split("\n\n") if part != page["summary"]]
    if paragraphs:
        things.append(Padding(Text("\n\n".join(paragraphs)), (1, 0, 0, 2)))
    for title, rows in sections.items():
        table = Table.grid(padding=(0, 2))
        for row in rows:
            table.add_row(*map(Text, row))
        if rows:
            things += [Text(f"\n{title}", "bold"), Padding(table, (0, 0, 0, 2))]
    draw(*things)


def _option_row(option: Mapping[str, Any]) -> tuple[str, ...]:
    default = "required" if option["required"] else f"default {option['default']!r}"
    if option["given"] is not None:
        default = f"{option['given']} ({default})"
    return option["name"], option["type"], default, option["help"]
