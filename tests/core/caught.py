"""What a check finds, and whether it is the one that was meant."""

from __future__ import annotations

import re
from typing import Any

import pio
import pio.testing

REGISTRY = pio.Registry(())


def result(kind: str, plugin: Any, name: str, **options: Any) -> pio.testing.Result:
    """What one check finds."""
    suite = pio.testing.suite(kind, plugin, registry=REGISTRY, **options)
    [check] = [c for c in suite.checks if c.name == name]
    return suite._result(check)


def assert_caught(kind: str, plugin: Any, name: str, what: str, mend: str = ".") -> None:
    found = result(kind, plugin, name)
    assert found.state == "failed", found
    assert re.search(what, found.what, re.DOTALL), found.what
    assert re.search(mend, found.mend), found.mend
