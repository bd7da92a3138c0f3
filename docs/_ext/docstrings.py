"""Docstrings for autodoc: ours are written to be read as they stand, which is nearly Markdown.

Here `code` gets the two backticks of reStructuredText, an indented block becomes a literal one, and
signs that would mean something elsewhere are escaped. The directive `public` documents names of `pio`.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import pio


class Public(SphinxDirective):
    """The names it is given, each documented as what it is: a class, a function, or a value."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for name in " ".join(self.content).split():
            found = getattr(pio, name)
            if inspect.isclass(found):
                lines += [f".. autoclass:: pio.{name}", "   :members:", ""]
            elif inspect.isroutine(found):
                lines += [f".. autofunction:: pio.{name}", ""]
            else:
                lines += [f".. py:data:: {name}", "", *_beside(name), ""]
        return self.parse_text_to_nodes("\n".join(lines))


def _beside(name: str) -> list[str]:
    """What stands below a value where it is made: its class would explain only the class."""
    home = f"pio.{pio._HOME[name]}"
    text = ModuleAnalyzer.for_module(home).find_attr_docs()["", name]
    return [f"   {line}" for line in rewrite(text)]


def rewrite(lines: list[str]) -> list[str]:
    """A docstring of ours as reStructuredText."""
    found: list[str] = []
    literal, before = False, ""
    for line in lines:
        indented = line.startswith("    ")
        if line.strip():
            if indented and not literal and found[-1:] == [""] and not before.startswith(" "):
                found += ["::", ""]
            literal = indented and (literal or found[-2:] == ["::", ""])
            before = line
        found.append(line if literal else inline(line))
    return found


def inline(line: str) -> str:
    """One line, with code in two backticks and what has a meaning elsewhere escaped."""
    parts = re.split(r"`([^`]+)`", line)  # text, code, text, code, …
    escaped = [re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", text) for text in parts[::2]]
    # A letter may follow code, as in "the `x`s".
    code = [f"``{text}``\\ " for text in parts[1::2]]
    woven = [part for pair in zip(escaped, [*code, ""], strict=True) for part in pair]
    text = "".join(woven)
    return re.sub(r"^(\s*)\\\*(?= )", r"\1*", text)  # but a list stays one


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    del app, what, name, thing, options
    lines[:] = rewrite(lines)


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """The fields of a named tuple are in its signature; what Python says of them is nothing new."""
    del app, what, name, skip, options
    return True if (inspect.getdoc(thing) or "").startswith("Alias for field") else None


def setup(app: Sphinx) -> dict[str, bool]:
    for name in pio.__all__:
        found = getattr(pio, name)
        if inspect.isclass(found):
            found.__module__ = "pio"  # where its users find it, and links to it lead
    app.add_directive("public", Public)
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
