"""Errors meant for the person at the terminal."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PioError(Exception):
    """A mistake the user can mend: what was wrong, what was given, what to do."""


class RunError(PioError):
    """A run that began well and failed: it diverged, or the disk is full."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'bxtg'?`, or the whole list when nothing is near."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        # What is much further away than the nearest was not meant.
        ratio = {n: difflib.SequenceMatcher(None, n, name).ratio() for n in near}
        near = [n for n in near if ratio[n] > ratio[near[0]] - 0.25]
        return f"; did you mean {' or '.join(repr(n) for n in near)}?"
    return f"; there is {', '.join(known)}." if known else "; none is registered."
