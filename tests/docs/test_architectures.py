"""The page on architectures says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pio

PAGE = (Path(__file__).parents[2] / "docs" / "architectures.md").read_text(encoding="utf-8")
REGISTRY = pio.discover()


@pytest.mark.parametrize("kind", ["architecture", "embedding", "weighting"])
def test_everything_of_ours_has_a_row(kind):
    for name, (entry, *_) in REGISTRY.of(kind).items():
        if entry.source.entry_point == "builtin":
            assert f"| `{name}` |" in PAGE


def test_the_table_is_what_architectures_read():
    for line in re.findall(r"^\| `\w+` \|.*`[fxt]+ · [fxt]+`.*$", PAGE, re.MULTILINE):
        name, branch, trunk, *_ = (cell.strip(" `") for cell in line.strip("|").split("|"))
        reads = REGISTRY.make("architecture", name).reads
        assert (", ".join(reads["branch"]), ", ".join(reads["trunk"])) == (branch, trunk)
