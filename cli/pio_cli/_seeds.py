"""Seeds, one or many, as a command takes them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from pio._errors import PioError

SEED = click.IntRange(0, 2**32 - 1)

MOST = 1000
"""How many runs one command makes at most."""


def parse_seeds(text: str) -> Sequence[int]:
    """`0:4` is 0, 1, 2, 3; `1,5` is those two."""
    found: Sequence[int]
    try:
        if ":" in text:
            first, _, last = text.partition(":")
            found = range(int(first or 0), int(last))
        else:
            found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found:
        raise PioError(f"--seeds is a range such as 0:4, or a list such as 1,5 (got {text!r}).")
    ends = (found[0], found[-1]) if isinstance(found, range) else (min(found), max(found))
    if ends[0] < 0 or ends[1] >= 2**32:
        raise PioError(f"--seeds are whole numbers from 0 to 2³² - 1 (got {text!r}).")
    count = ends[1] - ends[0] + 1 if isinstance(found, range) else len(found)
    if count > MOST:
        raise PioError(f"--seeds asks for {count} runs; one command makes {MOST} of them at most.")
    twice = [seed for k, seed in enumerate(found) if seed in found[:k]]
    if twice:
        raise PioError(f"--seeds names {twice[0]} twice (got {text!r}); give each seed once.")
    return found
