"""The site builds without a warning, and needs nothing from elsewhere to be read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pio

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx")
    home = tmp_path_factory.mktemp("site")
    strict = ["-n", "-W", "--keep-going", "-q"]
    # Not in the checkout: what is built must not depend on what was built before.
    build = [sys.executable, "-m", "sphinx", *strict, "-d", home / "trees", DOCS, home / "html"]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return home / "html"


def test_the_site_is_whole(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    assert [name for name in pio.__all__ if f'id="pio.{name}"' not in text] == []
    commands = (site / "cli.html").read_text(encoding="utf-8")
    assert 'id="pio-train"' in commands
    assert 'id="pio-data-certify"' in commands
    assert "<math" in (site / "equations.html").read_text(encoding="utf-8")
    # A browser is told to load nothing but what is here.
    loads = r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="([^"]+)"'
    for page in site.glob("*.html"):
        for address in re.findall(loads, page.read_text(encoding="utf-8")):
            assert (page.parent / address.split("?")[0]).is_file(), (page.name, address)
    assert "@import url" not in "".join(p.read_text() for p in site.rglob("*.css"))


def test_a_docstring_becomes_restructured_text():
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from docstrings import rewrite
    finally:
        sys.path.pop(0)
    text = ["|u| of `s_`:", "", "    s = `1`", "", "- one", "  more", "", "Then * and `a`s."]
    assert rewrite(text) == [
        "\\|u\\| of ``s_``\\ :",
        "",
        "::",
        "",
        "    s = `1`",
        "",
        "- one",
        "  more",
        "",
        "Then \\* and ``a``\\ s.",
    ]
