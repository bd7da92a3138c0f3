"""The screen: where results are drawn."""

from __future__ import annotations

import sys

from rich.console import Console, RenderableType


def draw(*things: RenderableType) -> None:
    """Print to stdout, folded to the terminal's width.

    A pipe or a file is not folded, so that `grep` finds whole lines, and gets no trailing blanks.
    """
    console = Console(soft_wrap=False)
    if not console.is_terminal:
        console.width = 1000
    with console.capture() as capture:
        for thing in things:
            console.print(thing)
    lines = (line.rstrip() for line in capture.get().splitlines())
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
