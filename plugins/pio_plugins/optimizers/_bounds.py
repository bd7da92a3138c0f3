"""Bounds of the options that optimisers share."""

from __future__ import annotations

import math

import pio


def require_decay(**options: float) -> None:
    """Shares of a moving average that are kept from step to step."""
    for name, value in options.items():
        if not 0 <= value < 1:
            raise pio.PioError(f"optimizer.{name} is at least 0 and below 1 (got {value:g}).")


def require_positive(**options: int | float) -> None:
    for name, value in options.items():
        if not 0 < value < math.inf:
            raise pio.PioError(f"optimizer.{name} is positive (got {value:g}).")


def require_weight_decay(value: float) -> None:
    if not 0 <= value < math.inf:
        raise pio.PioError(f"optimizer.weight_decay is at least 0 (got {value:g}).")
