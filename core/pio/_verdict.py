"""A verdict: what the statistics of a variant come to, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from pio._numbers import digits, percent
from pio._statistics import Statistics, holm

Kind = Literal["equivalent", "better", "worse", "undecided"]
LEVEL = 0.05
# With fewer seeds, what is said is said of the networks that were trained: of equal architectures whose seeds
# differ by a tenth, two seeds each are told apart in two of three simulated trials.
SEEDS = 5


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
    *,
    few: Collection[str] = (),
) -> list[Verdict]:
    """One verdict for each variant that is compared with a baseline.

    A variant is equivalent if both one-sided tests say so and the median agrees; else better or worse if
    the two-sided test finds a difference. Each family of tests is corrected for the number of variants.
    Of those that have `few` seeds, it is said that it holds for these networks.
    """
    same = holm([s.p_equivalent for s in found])
    other = holm([s.p_different for s in found])
    return [
        _verdict(s, name, baseline, p, q, level, len(found), name in few)
        for s, name, p, q in zip(found, names, same, other, strict=True)
    ]


def _verdict(
    s: Statistics,
    name: str,
    baseline: str,
    same: float,
    other: float,
    level: float,
    variants: int,
    few: bool,
) -> Verdict:
    side = (s.median_difference > 0) - (s.median_difference < 0)
    differs = other < level
    near = abs(s.median_difference) < s.margin
    kind: Kind = "undecided"
    if same < level:
        # Ranks tell of the pseudomedian. Where errors differ in opposite ways, the median may be far from it.
        kind = "equivalent" if near else "undecided"
    elif differs and side and side == s.lean:
        kind = "better" if side < 0 else "worse"
    words = {
        "equivalent": f"{name} is equivalent to {baseline}",
        "better": f"{name} is better than {baseline}",
        "worse": f"{name} is worse than {baseline}",
        "undecided": f"{name} and {baseline} can neither be told apart nor called equivalent",
    }[kind]
    if few:
        words = f"Of these networks, {words}"
    if kind == "equivalent":
        words += (
            f": in the median their errors differ by less than {points(s.margin)} ({p_value(same)})"
        )
        if differs:
            words += f", though by more than nothing ({p_value(other)})"
    elif kind == "undecided" and variants * 2.0**-s.functions >= level:
        words += f": {s.functions} test functions are too few to tell"
    elif kind == "undecided" and same < level:
        words += (
            ": the median and the ranks disagree, for the ranks of the differences are within the margin of "
            f"{points(s.margin)} and their median is not"
        )
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
        # Never “1.5 times”, which reads as the error itself: larger by 150 % of it is 2.5 times as large.
        part = digits(100 * d / s.baseline_median, 2)
        whole = f", {part} % of the baseline’s median error"
    return (
        f"In the median its error is {'smaller' if smaller else 'larger'} by {points(d)} "
        f"({100 * s.confidence:g} % interval {span}){whole}. It is {where}"
    )


def points(value: float) -> str:
    """A difference of errors, which are given in per cent."""
    return f"{percent(value)} percentage points"


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
