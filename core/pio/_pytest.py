"""What pytest loads: a suite of checks, `test_heat = pio.testing.suite("equation", Heat)`, is one test a check.

Pytest imports this at its start, in every project; so it imports nothing of pio, and no JAX.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pio.testing import Check, Suite


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    # Whoever has a suite has imported this.
    testing = sys.modules.get("pio.testing")
    if testing is None or not isinstance(obj, testing.Suite) or not collector.funcnamefilter(name):
        return None
    return list(_items(collector, name, obj))


def _items(collector: Any, name: str, suite: Suite) -> Iterable[pytest.Item]:
    for check in suite.checks:
        yield CheckItem.from_parent(
            collector, name=f"{name}[{check.name}]", suite=suite, check=check
        )


class CheckItem(pytest.Item):
    """One check of a suite. It fails with what is wrong and how to mend it, not with our traceback."""

    def __init__(self, *, suite: Suite, check: Check, **rest: Any) -> None:
        super().__init__(**rest)
        self.suite, self.check = suite, check

    def runtest(self) -> None:
        from pio.testing import Advice, Unfit

        try:
            self.suite.run(self.check)
        except Unfit as unfit:
            pytest.skip(str(unfit))
        except Advice as advice:
            self.add_report_section("call", "advice", str(advice))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from pio.testing import Failure

        error = excinfo.value
        if not isinstance(error, Failure) or self.config.getoption("fulltrace", False):
            return super().repr_failure(excinfo, style)
        return f"{self.check.summary}: no.\n\n{error}"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
