"""`import pio` offers what its table says, to people and to type checkers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pio

ROOT = Path(__file__).parents[2]


def test_the_stub_agrees_with_the_table():
    check = [sys.executable, ROOT / ".ci" / "stub", "--check"]
    assert subprocess.run(check, capture_output=True, text=True, check=False).stderr == ""


def test_the_table_is_sorted_by_module():
    modules = list(pio._HOME.values())
    assert modules == sorted(modules)


@pytest.mark.parametrize("name", pio.__all__)
def test_every_public_name_is_there_and_explains_itself(name):
    assert getattr(pio, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        pio.nonsense  # noqa: B018


def test_importing_pio_imports_no_jax():
    code = "import sys, pio; assert not {'jax', 'numpy', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
