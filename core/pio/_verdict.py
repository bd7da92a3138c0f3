"""A verdict: what the statistics of a variant come to, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pio._numbers import digits, percent
from pio._statistics import Statistics, holm

Kind = Literal["equivalent", "better", "worse", "undecided"]
LEVEL = 0.05


@dataclass(frozen=True)
class Verdict:
    """Equivalent, better, worse or undecided; why, and with which p-values after Holm's correction."""

    kind: Kind
    p_equivalent: float
    p_different: float
    words: str


def verdicts(
    found: Sequence[Statistics],
    names: Sequence[str],
    baseline: str,
    level: float = LEVEL,
) -> list[Verdict]:
    """One verdict for each variant that is compared with a baseline.

    A variant is equivalent if both one-sided tests say so; else better or worse if the two-sided
    test finds a difference. Each family of tests is corrected for the number of variants.
    """
    same = holm([s.p_equivalent for s in found])
    other = holm([s.p_different for s in found])
    return [
        _verdict(s, name, baseline, p, q, level, len(found))
        for s, name, p, q in zip(found, names, same, other, strict=True)
    ]


def _verdict(
    s: Statistics, name: str, baseline: str, same: float, other: float, level: float, variants: int
) -> Verdict:
    side = (s.median_difference > 0) - (s.median_difference < 0)
    differs = other < level
    kind: Kind = "undecided"
    if same < level:
        kind = "equivalent"
    elif differs and side and side == s.lean:
        kind = "better" if side < 0 else "worse"
    words = {
        "equivalent": f"{name} is equivalent to {baseline}",
        "better": f"{name} is better than {baseline}",
        "worse": f"{name} is worse than {baseline}",
        "undecided": f"{name} and {baseline} can neither be told apart nor called equivalent",
    }[kind]
    if kind == "equivalent":
        words += (
            f": in the median their errors differ by less than {points(s.margin)} ({p_value(same)})"
        )
        if differs:
            words += f", though by more than nothing ({p_value(other)})"
    elif kind == "undecided" and variants * 2.0**-s.functions >= level:
        words += f": {s.functions} test functions are too few to tell"
    elif kind == "undecided" and differs:
        words += ": the median and the ranks of the differences point to different sides"
    else:
        words += f" ({p_value(other)})"
    return Verdict(kind, same, other, f"{words}. {_how_much(s)}")


def _how_much(s: Statistics) -> str:
    """By how much the errors differ, in the median."""
    d = abs(s.median_difference)
    where = f"smaller on {100 * s.share:.0f} % of the test functions."
    if d == 0:
        return f"In the median the errors do not differ. Its error is {where}"
    # The interval of what is said: how much smaller, or how much larger.
    smaller = s.median_difference < 0
    low, high = (-s.high, -s.low) if smaller else (s.low, s.high)
    span = f"{percent(low)} to {percent(high)}"
    whole = ""
    if s.baseline_median > 0:
        part = d / s.baseline_median
        whole = f"{digits(100 * part, 2)} % of" if part < 0.995 else f"{digits(part, 2)} times"
        whole = f", {whole} the baseline’s median error"
    return (
        f"In the median its error is {'smaller' if smaller else 'larger'} by {points(d)} "
        f"({100 * s.confidence:g} % interval {span}){whole}. It is {where}"
    )


def points(value: float) -> str:
    """A difference of errors, which are given in per cent."""
    return f"{percent(value)} percentage points"


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
