"""Checks that a plugin is right, for its author. What we check of our own plugins, this checks of anyone's.

In a test file, one line makes one test per check:

    import pio.testing
    from pio_heat import Heat

    test_heat = pio.testing.suite("equation", Heat)

`suite(kind, plugin, **options)` takes the class (or function) that makes an equation, architecture, weighting,
embedding or optimizer, or the name under which it is installed, and options to make it with. Pytest needs no
further setting up: its plugin comes with pio. On the command line the same is

    pio plugin check heat.py        # everything that a file supplies
    pio plugin check heat           # a name, or an installed distribution
    pio plugin check heat -k ansatz # some checks only

and in a program

    for result in pio.testing.suite("equation", Heat).results():
        print(result.check, result.state, result.what, result.mend)

A `Result` has the `state` "passed", "failed", "advice" (it works, and could be better) or "skipped" (there is nothing
to look at: no ansatz, say). `CHECKS` maps each kind to its checks by name; a `Check` has a `summary` in one
line. Calling a suite runs all of it and raises an `AssertionError` with everything that is wrong.
"""

from __future__ import annotations

import importlib

from pio.testing._check import CHECKS, Advice, Check, Failure, Unfit, check
from pio.testing._suite import Result, Suite, suite

# Each registers its checks, in the order in which they run.
for _part in (
    "general equation posed inputs reference freedom residual order architecture embedding weighting optimizer models"
).split():
    importlib.import_module(f"pio.testing._{_part}")

__all__ = [
    "CHECKS",
    "Advice",
    "Check",
    "Failure",
    "Result",
    "Suite",
    "Unfit",
    "check",
    "suite",
]
