"""How numbers are shown to a reader."""

from __future__ import annotations

import math

MINUS = "−"


def digits(value: float, count: int = 3) -> str:
    """So many significant digits, and all those before the point: 0.00310, 5.20, 1,234."""
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (count - 1):
        return f"{value:,.0f}".replace("-", MINUS)
    text = f"{value:#.{count}g}"
    return text.removesuffix(".").replace("-", MINUS)


def percent(value: float) -> str:
    """A relative error, in per cent."""
    return digits(100 * value)


def signed_percent(value: float) -> str:
    """A difference of relative errors, in percentage points."""
    return f"+{percent(value)}" if value > 0 else percent(value)


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", MINUS)


def ratio(value: float) -> str:
    return f"{value:.3f}"


def share(value: float) -> str:
    """A share of a whole, in per cent."""
    return f"{100 * value:.1f}"


def p_value(value: float) -> str:
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def duration(seconds: float) -> str:
    """`12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = math.floor(round(seconds) / 60)
    if minutes < 60:
        return f"{minutes} min {round(seconds) - 60 * minutes} s"
    return f"{minutes // 60} h {minutes % 60} min"
