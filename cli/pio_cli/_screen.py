"""The screen: where results are drawn, and what is seen while one waits for them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

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
    if sys.stdout is not None:  # it is none where a shell closed it
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


@contextlib.contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, to be called with (done, total); nothing if that is no terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextlib.contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being done; nothing if that is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(what) as shown:
        yield lambda step: shown.update(f"{what}: {step}")
