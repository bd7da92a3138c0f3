"""The page on equations says what is so."""

from __future__ import annotations

from pathlib import Path

import pio

PAGE = (Path(__file__).parents[2] / "docs" / "equations.md").read_text(encoding="utf-8")


def test_every_equation_of_ours_and_its_references_are_on_it():
    registry = pio.discover()
    for name, (entry, *_) in registry.of("equation").items():
        if entry.source.entry_point == "builtin":
            assert f"`{name}`" in PAGE
            for reference in registry.make("equation", name).references:
                assert f"`{reference}`" in PAGE
