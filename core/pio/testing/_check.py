"""A check: something that every plugin of a kind should do, and how to say that one does not."""

from __future__ import annotations

import inspect
import traceback
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pio.testing._subject import Subject


class Failure(AssertionError):  # noqa: N818 - it is what a check has found
    """What is wrong with a plugin, in its author's words, and how to mend it."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(f"{what}\nTo mend it: {mend}" if mend else what)
        self.what, self.mend = what, mend


class Advice(Exception):  # noqa: N818 - nothing is wrong
    """Something that works, and could be better."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(f"{what}\n{mend}")
        self.what, self.mend = what, mend


class Unfit(unittest.SkipTest):
    """Why a check has nothing to look at: the equation has no ansatz, say."""


@dataclass(frozen=True)
class Check:
    """A named check. `run(subject)` raises a `Failure`, or `Advice`, or is `Unfit`.

    It is of no use where one of those it comes `after` has failed.
    """

    kind: str
    name: str
    summary: str
    run: Callable[[Subject], None]
    after: tuple[str, ...] = ()


CHECKS: dict[str, dict[str, Check]] = {}
"""Every check, by kind and name, in the order in which they run."""


def check(
    *kinds: str, after: str = "", name: str = ""
) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Make a function a check of these kinds, by its own name and the first line of its docstring."""

    def register(run: Callable[[Subject], None]) -> Callable[[Subject], None]:
        called = name or run.__name__.replace("_", "-")
        summary = (inspect.getdoc(run) or "").partition("\n")[0].rstrip(".")
        for kind in kinds:
            found = Check(kind, called, summary, run, tuple(after.split()))
            CHECKS.setdefault(kind, {})[called] = found
        return run

    return register


Found = TypeVar("Found")


def measured(function: Callable[..., Found]) -> Callable[..., Found]:
    """A measurement that several checks use: it is made once for a subject and arguments."""

    def once(subject: Subject, *arguments: Any) -> Found:
        key = (function, *arguments)
        if key not in subject.found:
            subject.found[key] = function(subject, *arguments)
        found: Found = subject.found[key]
        return found

    once.__doc__ = function.__doc__
    return once


LIBRARIES = {"jax", "haiku", "optax", "numpy", "scipy", "beartype", "jaxtyping", "pluggy"}


def blame(error: BaseException) -> str:
    """An exception in one line, with the author's line that led to it."""
    text = f"{type(error).__name__}: {error}".strip().partition("\n")[0].rstrip(":")
    line = culprit(error)
    return f"{text} ({line})" if line else text


def culprit(error: BaseException) -> str:
    """The author's line that led to an exception, if there is one."""
    ours = Path(__file__).parents[1]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if ours in path.parents or LIBRARIES & set(path.parts) or not path.is_file():
            continue
        if "lib" not in path.parts or "site-packages" in path.parts:  # not Python's own either
            return f"{path}, line {frame.lineno}"
    return ""


def require(holds: Any, what: str, mend: str) -> None:
    """Fail unless something holds."""
    if not holds:
        raise Failure(what, mend)
