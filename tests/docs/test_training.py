"""The page on training says what is so."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pio._config import Data, Keep, Train

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("section", [Train, Data, Keep])
def test_every_setting_is_on_it(section: Any) -> None:
    for field in dataclasses.fields(section):
        assert f"`{field.name}`" in PAGE
