"""Every page says what is so: its Python runs, its commands are commands, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import pio
from pio._hooks import KINDS
from pio_cli._main import run

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.usefixtures("place")
def test_its_python_runs_and_so_do_its_commands(page, check):
    page.play()
    for line in page.run:
        assert run(shlex.split(line)[1:]) == 0, line
    for line in page.commands:
        check(line)


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(
        r"^([\w-]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = {path.stem for path in DOCS.iterdir() if path.suffix in (".md", ".rst")}
    assert pages - {"index"} == set(listed)


def test_every_hook_has_a_section():
    text = (DOCS / "hooks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## `(pio_\w+)`$", text, re.MULTILINE)) == {
        kind.hook for kind in KINDS.values()
    }


def test_every_public_name_is_on_the_api_page_once():
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    lines = re.findall(r"^\.\. public:: (.+)$", text, re.MULTILINE)
    assert sorted(" ".join(lines).split()) == pio.__all__
