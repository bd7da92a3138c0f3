"""Standard output and error, which may be closed, or full, or have lost their reader."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

import click


def plug() -> None:
    """Let nothing of ours come to stand where a shell closed a stream, `>&-`."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest number that is free, which is this


def flush() -> None:
    if sys.stdout is not None:  # it is none where a shell closed it
        sys.stdout.flush()


def complains() -> bool:
    """Whether stdout cannot be written, which is found by trying: an error does not say whose it is."""
    try:
        if sys.stdout is not None:
            sys.stdout.write("\n")
        flush()
    except OSError:
        return True
    return False


def silence(stream: TextIO | None) -> None:
    """Drop what is still to be written, so that it does not complain at exit."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


class Audience:
    """Who watches a run: results on stdout, notes on stderr.

    A pipe whose reader has left, or results that cannot be written, are no reason to lose what was
    trained; `gone` holds the error, for whoever then stops in good order. Notes that cannot be written
    for another reason, to a terminal that was closed or a log on a full disk, are left out.
    """

    gone: OSError | None = None

    def result(self, text: str) -> None:
        try:
            click.echo(text)
        except OSError as error:
            self._leaves(error, sys.stdout)

    def notes(self, show: Callable[..., None]) -> Callable[..., None]:
        """The same, which does not raise."""

        def shown(*given: Any, **more: Any) -> None:
            try:
                show(*given, **more)
            except BrokenPipeError as error:
                self._leaves(error, sys.stderr)
            except SystemExit:  # what rich makes of it
                self._leaves(BrokenPipeError(), sys.stderr)
            except OSError:
                silence(sys.stderr)

        return shown

    def _leaves(self, error: OSError, stream: TextIO | None) -> None:
        self.gone = self.gone or error
        silence(stream)
