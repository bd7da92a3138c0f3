"""The page on checks has a row for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pio.testing import CHECKS
from pio.testing._models import MODELS

PAGE = (Path(__file__).parents[2] / "docs" / "testing-plugins.md").read_text(encoding="utf-8")


def rows(title: str) -> set[str]:
    """The checks in a section's table."""
    [section] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE))


@pytest.mark.parametrize("kind", CHECKS)
def test_every_check_is_in_the_table_of_its_kind(kind):
    found = rows(f"{kind.capitalize()}s") | rows("Every plugin")
    if kind in MODELS:
        found |= rows("Models")
    if kind == "weighting":
        found.add("trains")
    assert found == set(CHECKS[kind])


def test_no_row_is_cut_short():
    table = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert all(line.count(" | ") == 2 and line.endswith(" |") for line in table)
