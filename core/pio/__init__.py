"""Learn the solution operators of PDEs from their physics.

`import pio` is cheap: names are imported when first used, so that listing plugins or showing help
never waits for JAX.
"""

from __future__ import annotations

import importlib
from typing import Any

# One public name a line: where it lives. Sorted by module, then by name.
_HOME = {
    "Coordinate": "_domain",
    "Domain": "_domain",
    "Condition": "_equation",
    "Equation": "_equation",
    "Reference": "_equation",
    "PioError": "_errors",
    "option": "_options",
    "Blocks": "_recipe",
    "Choice": "_recipe",
    "Recipe": "_recipe",
    "Tables": "_recipe",
    "FunctionSpace": "_space",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"pio.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
