"""The commands of `pio`, one section each, from the click commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from docstrings import inline
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pio_cli._main import OWN
from pio_cli._main import pio as group


class Commands(SphinxDirective):
    """Every command that comes with pio, in the order of `pio --help`; groups with theirs."""

    def run(self) -> list[nodes.Node]:
        context = click.Context(group, info_name="pio")
        found = [self._section(group, context)]
        for name in OWN:
            command = group.get_command(context, name)
            assert command is not None
            found += self._sections(command, click.Context(command, context, info_name=name))
        return found

    def _sections(self, command: click.Command, context: click.Context) -> Iterator[nodes.section]:
        yield self._section(command, context)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from self._sections(inner, click.Context(inner, context, info_name=name))

    def _section(self, command: click.Command, context: click.Context) -> nodes.section:
        path = context.command_path
        section = nodes.section(ids=[path.replace(" ", "-")], names=[path])
        section += nodes.title("", "", nodes.literal("", path))
        usage = f"{path} {' '.join(command.collect_usage_pieces(context))}"
        section += nodes.literal_block(usage, usage, language="text")
        text = [*prose(command.help or ""), "", *options(command, context)]
        section += self.parse_text_to_nodes("\n".join(text))
        return section


def prose(text: str) -> Iterator[str]:
    """A help text as reStructuredText; what click is told not to fold stays as it is."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        kept = paragraph.startswith("\b\n")
        lines = paragraph.removeprefix("\b\n").splitlines()
        yield from ["::", ""] if kept else []
        yield from [f"    {line.strip()}" for line in lines] if kept else map(inline, lines)
        yield ""


def options(command: click.Command, context: click.Context) -> list[str]:
    """A table of the options, none if there are none but --help."""
    rows = [
        record
        for parameter in command.params
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context))
    ]
    if not rows:
        return []
    lines = [".. list-table::", "   :widths: 35 65", "   :width: 100%", "   :class: options", ""]
    for names, text in rows:
        lines += [f"   * - ``{names}``", f"     - {inline(text)}"]
    return lines


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
