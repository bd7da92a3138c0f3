"""What the shell offers when Tab is pressed. It has to be quick, so nothing here imports JAX.

Each function is a click `shell_complete`. None of them complains: whoever presses Tab wants to type on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from pio._hooks import KINDS
from pio_cli._plugins import Plugins

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

# Finding an equation's own presets would mean to import it. These three are what presets are called.
PRESETS = {
    "fast": "some minutes on two cores",
    "paper": "the published setting",
    "smoke": "seconds, for a look at whether things fit together",
}

# Directories looked into at most, so that Tab in a home directory does not hang.
LOOKS = 500


def names(kind: str) -> Complete:
    """The names of a kind of plugin, with their summaries."""

    def complete(ctx: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
        del parameter
        return _named(ctx, kind, text)

    return complete


def presets(ctx: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """The usual presets."""
    del ctx, parameter
    return [CompletionItem(n, help=h) for n, h in PRESETS.items() if n.startswith(text)]


def kinds(ctx: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Kinds of plugins, for `pio describe`."""
    del ctx, parameter
    return [CompletionItem(kind) for kind in KINDS if kind.startswith(text)]


def described(ctx: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Names of the kind that stands before them: `pio describe eq …`."""
    del parameter
    given = str(ctx.params.get("kind_") or "")
    found = [kind for kind in KINDS if given and kind.startswith(given.lower())]
    return _named(ctx, found[0], text) if len(found) == 1 else []


def runs(ctx: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Directories that hold a run: below what was typed, else in `runs`; if there are none, any."""
    del ctx, parameter
    typed = text.rpartition("/")[0] + "/" if "/" in text else ""
    found = set(_runs_below(typed or "runs/"))
    if not typed:
        found |= set(_runs_below("", depth=1))
    fitting = sorted(path for path in found if path.startswith(text))
    return [CompletionItem(path) for path in fitting] or [CompletionItem(text, type="dir")]


def _named(ctx: click.Context, kind: str, text: str) -> list[CompletionItem]:
    with suppress(Exception):  # a broken --plugin file is reported when the command is run
        known = ctx.ensure_object(Plugins).registry.of(kind)
        return [
            CompletionItem(name, help=entries[0].summary)
            for name, entries in known.items()
            if name.startswith(text)
        ]
    return []


def _runs_below(base: str, depth: int = 3) -> Iterator[str]:
    """Runs at most so many levels below a directory, each as it would be typed."""
    level, looks = [base], 0
    for _ in range(depth):
        deeper = []
        for parent in level:
            looks += 1
            if looks > LOOKS:
                return
            with suppress(OSError):
                for entry in os.scandir(Path(parent).expanduser()):
                    if entry.is_dir() and not entry.name.startswith("."):
                        path = parent + entry.name
                        if Path(path, "config.toml").expanduser().is_file():
                            yield path
                        else:
                            deeper.append(path + "/")
        level = deeper
