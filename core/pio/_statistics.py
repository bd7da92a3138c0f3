"""Statistics of paired errors: a variant's and a baseline's, one of each per test function.

Everywhere d = variant − baseline, so that negative is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from pio._errors import PioError

Errors = Float[np.ndarray, " f"]
RANKS = ("textbook", "published")

# The margin of equivalence, as a share of the baseline's least error.
MARGIN = 0.2
# Up to so many differences the distribution of rank sums is counted out; beyond, it is normal. As in SciPy.
EXACT = 50


@dataclass(frozen=True)
class Statistics:
    """A variant beside a baseline.

    - `share` of the functions on which the variant's error is smaller;
    - `median_difference` of the errors, with a bootstrap interval from `low` to `high`;
    - `p_lower`, `p_upper`: two one-sided tests that the difference exceeds −`margin`, and stays below
      `margin`; where both are small the two are equivalent;
    - `p_different`: a two-sided test that there is a difference, and the side to which its ranks `lean`;
    - `glass`: the median difference over the baseline's median absolute deviation, none if that is 0;
    - `spearman`: the rank correlation of the errors, none if one of them is constant.
    """

    functions: int
    share: float
    median_difference: float
    low: float
    high: float
    confidence: float
    margin: float
    p_lower: float
    p_upper: float
    p_different: float
    lean: int
    glass: float | None
    spearman: float | None
    median: float
    baseline_median: float

    @property
    def p_equivalent(self) -> float:
        """The larger of the one-sided tests: equivalence needs both."""
        return max(self.p_lower, self.p_upper)


def statistics(
    variant: np.ndarray,
    baseline: np.ndarray,
    *,
    margin: float | None = None,
    ranks: str = "textbook",
    confidence: float = 0.95,
    names: tuple[str, str] = ("variant", "baseline"),
) -> Statistics:
    """Everything that is said of a pair. `names` are what messages call them."""
    variant, baseline = paired(variant, baseline, names)
    # Errors that are equal but for rounding are equal.
    d = np.where(np.isclose(variant, baseline, rtol=1e-14, atol=0.0), 0.0, variant - baseline)
    margin = default_margin(baseline, names[1]) if margin is None else checked_margin(margin)
    lower, upper = equivalence(d, margin, ranks)
    low, high = interval(d, confidence)
    return Statistics(
        functions=len(d),
        share=share(variant, baseline),
        median_difference=float(np.median(d)),
        low=low,
        high=high,
        confidence=confidence,
        margin=margin,
        p_lower=lower,
        p_upper=upper,
        p_different=difference(d),
        lean=lean(d),
        glass=glass(variant, baseline),
        spearman=spearman(variant, baseline),
        median=float(np.median(variant)),
        baseline_median=float(np.median(baseline)),
    )


def paired(variant: Any, baseline: Any, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """The errors as arrays, after refusing what cannot be compared."""
    first, second = (np.asarray(e, float) for e in (variant, baseline))
    if first.ndim != 1 or first.shape != second.shape:
        raise PioError(
            f"errors are compared function by function, but {names[0]!r} has shape {first.shape} "
            f"and {names[1]!r} {second.shape}; measure both on the same test functions."
        )
    if len(first) < 3:
        raise PioError(
            f"a comparison needs at least 3 test functions (got {len(first)}); measure more with "
            "`pio evaluate RUN --functions 100`."
        )
    for name, errors in zip(names, (first, second), strict=True):
        if bad := np.flatnonzero(~np.isfinite(errors) | (errors < 0)).tolist():
            raise PioError(
                f"the errors of {name!r} are no finite numbers on {len(bad)} of {len(errors)} test "
                f"functions (the first is {bad[0]}, with {errors[bad[0]]}); leave it out, or train it anew."
            )
    return first, second


def default_margin(baseline: Errors, name: str = "baseline") -> float:
    """0.2 times the baseline's least error."""
    least = int(baseline.argmin())
    if baseline[least] == 0:
        raise PioError(
            f"the baseline {name!r} has error 0 on test function {least}, so the margin of equivalence, "
            f"{MARGIN} times its least error, would be 0; give a margin (--margin 0.001), or another baseline."
        )
    return MARGIN * float(baseline[least])


def checked_margin(margin: float) -> float:
    if not (np.isfinite(margin) and margin > 0):
        raise PioError(f"a margin is a positive difference of errors (got {margin}).")
    return float(margin)


def check_ranks(ranks: str) -> None:
    if ranks not in RANKS:
        raise PioError(f"ranks are 'textbook' or 'published' (got {ranks!r}).")


def share(variant: Errors, baseline: Errors) -> float:
    """The share of functions on which the variant's error is smaller. A tie is no win."""
    return float((variant < baseline).mean())


def equivalence(d: Errors, margin: float, ranks: str = "textbook") -> tuple[float, float]:
    """The p-values of two one-sided signed-rank tests, of d > −margin and of d < margin.

    `textbook` ranks |d + Δ| for the first and |d − Δ| for the second: each is Wilcoxon's test, shifted
    to the margin. `published` takes the words of arXiv 2509.01679 literally: it ranks |d| for
    both, and only the signs are those of d ± Δ. Rank and sign then depend on each other, and at the
    margin a test rejects less often than its level says; it is offered to repeat what was published.
    """
    check_ranks(ranks)
    if ranks == "published":
        order = stats.rankdata(np.abs(_tied(d)))
        return tail(order, order[d > -margin].sum()), tail(order, order[d < margin].sum())
    return _signed_rank(d + margin, "greater"), _signed_rank(d - margin, "less")


def difference(d: Errors) -> float:
    """The p-value of Wilcoxon's two-sided signed-rank test of d = 0."""
    return _signed_rank(d, "two-sided")


def lean(d: Errors) -> int:
    """The side of 0 on which the larger sum of ranks lies: −1, 0 or 1."""
    d = _tied(d)
    return int(np.sign((np.sign(d) * stats.rankdata(np.abs(d))).sum()))


def _tied(d: Errors) -> Errors:
    """Differences of which those that are equal but for rounding are equal."""
    # Of the size of most of them: beside one that is huge, small ones are still told apart.
    typical = float(np.median(np.abs(d))) or float(np.abs(d).max())
    scale = 2.0 ** np.frexp(typical)[1]
    return np.asarray(np.round(d / scale, 13) * scale)


def _signed_rank(d: Errors, alternative: str) -> float:
    d = _tied(d)
    if not d.any():
        return 1.0  # no difference whatever: nothing speaks against the null hypothesis
    # Pratt: zeros take part in the ranking, so that many of them do not make a few others look large.
    return float(stats.wilcoxon(d, zero_method="pratt", alternative=alternative).pvalue)


def tail(ranks: Errors, observed: float) -> float:
    """P(W ≥ observed) for W the sum of each rank with probability one half."""
    if len(ranks) > EXACT:
        spread = np.sqrt((ranks**2).sum()) / 2
        return float(stats.norm.sf((observed - ranks.sum() / 2) / spread))
    # Ties have half ranks, so sums are counted in halves.
    ways = np.ones(1)
    for rank in np.rint(2 * ranks).astype(int):
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    return float(ways[round(2 * observed) :].sum())


def interval(d: Errors, confidence: float = 0.95, resamples: int = 4999) -> tuple[float, float]:
    """A percentile-bootstrap interval of the median, the same each time."""
    found = stats.bootstrap(
        (d,),
        np.median,
        n_resamples=resamples,
        batch=500,  # 4 MB a thousand functions
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)


def glass(variant: Errors, baseline: Errors) -> float | None:
    """Glass's Δ of medians: median(d) over the baseline's median absolute deviation."""
    deviation = float(np.median(np.abs(baseline - np.median(baseline))))
    return float(np.median(variant - baseline)) / deviation if deviation > 0 else None


def spearman(variant: Errors, baseline: Errors) -> float | None:
    """Spearman's ρ: whether both find the same functions hard."""
    if np.ptp(variant) == 0 or np.ptp(baseline) == 0:
        return None
    return float(stats.spearmanr(variant, baseline).statistic)


def holm(p: Sequence[float]) -> list[float]:
    """p-values after Holm's correction: the k-th smallest of m times m − k + 1, never falling, at most 1.

    Rejecting those below a level makes one false rejection or more with at most that probability.
    """
    order = np.argsort(p, kind="stable")
    factors = len(order) - np.arange(len(order))
    adjusted = np.minimum(1.0, np.maximum.accumulate(factors * np.asarray(p, float)[order]))
    found = np.empty(len(order))
    found[order] = adjusted
    return [float(value) for value in found]
