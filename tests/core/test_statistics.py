"""Statistics of paired errors agree with hand, with SciPy, and with what they claim."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy import stats

import pio
from pio._statistics import (
    default_margin,
    difference,
    equivalence,
    glass,
    holm,
    interval,
    lean,
    share,
    spearman,
    statistics,
    tail,
)


def errors(n=40, seed=0, scale=0.3):
    return np.random.default_rng(seed).lognormal(-5, scale, n)


# Errors as they come: positive, of any size, with ties.
# (Of fewer than 14 that are tied, SciPy tries all signs, which is slow.)
ERRORS = st.lists(st.integers(1, 60), min_size=14, max_size=25).map(lambda v: np.array(v) / 512)
PAIRS = ERRORS.flatmap(
    lambda b: st.lists(st.integers(1, 60), min_size=len(b), max_size=len(b)).map(
        lambda v: (np.array(v) / 512, b)
    )
)


# ---------------------------------------------------------------------------------------------
# By hand


def test_a_tie_is_no_win():
    assert share(np.array([1.0, 2, 3, 4]), np.array([2.0, 2, 4, 3])) == 0.5


def test_one_sided_tests_by_hand():
    # All six of d + 0.1 are positive: one of 2⁶ ways of signs. Of d − 0.035 three are negative, with
    # absolute values 25, 15, 5 among 25, 15, 5, 5, 15, 25: the signs balance.
    d = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
    assert equivalence(d, 0.1) == pytest.approx((1 / 64, 1 / 64))
    lower, upper = equivalence(d, 0.035)
    assert lower == pytest.approx(1 / 64)
    assert upper > 0.5


def test_published_ranks_by_hand():
    # Ranks of |d| are 1, 2, 3. Above −0.05 are those of ranks 2 and 3, and of the sums 0, 1, 2, 3, 3, 4, 5, 6
    # two are at least 5. Below 0.05 is that of rank 1, and seven are at least 1.
    d = np.array([-0.1, 0.2, 0.3])
    assert equivalence(d, 0.05, "published") == pytest.approx((2 / 8, 7 / 8))


def test_glass_by_hand():
    baseline = np.array([1.0, 2, 3, 4, 10])  # median 3, deviations 2, 1, 0, 1, 7 of median 1
    assert glass(baseline - 0.5, baseline) == pytest.approx(-0.5)
    assert glass(np.arange(5.0), np.ones(5)) is None


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_the_margin_is_a_fifth_of_the_least_error():
    assert default_margin(np.array([0.3, 0.1, 0.2])) == pytest.approx(0.02)


# ---------------------------------------------------------------------------------------------
# Beside SciPy


@pytest.mark.parametrize("n", [9, 30, 200])
def test_textbook_ranks_are_scipys(n):
    d, margin = errors(n) - errors(n, 1), 0.001
    lower, upper = equivalence(d, margin)
    assert lower == pytest.approx(stats.wilcoxon(d + margin, alternative="greater").pvalue)
    assert upper == pytest.approx(stats.wilcoxon(d - margin, alternative="less").pvalue)
    assert difference(d) == pytest.approx(stats.wilcoxon(d).pvalue)


@pytest.mark.parametrize("n", [5, 20, 50, 120])
def test_the_tail_of_rank_sums_is_scipys(n):
    d = np.random.default_rng(n).normal(0.2, 1, n)
    ranks = stats.rankdata(np.abs(d))
    expected = stats.wilcoxon(d, alternative="greater").pvalue
    assert tail(ranks, ranks[d > 0].sum()) == pytest.approx(expected)


def test_published_ranks_without_a_margin_are_the_usual_test():
    d = errors(25) - errors(25, 1)
    lower, _ = equivalence(d, 1e-300, "published")
    assert lower == pytest.approx(stats.wilcoxon(d, alternative="greater").pvalue)


def test_spearman_is_the_correlation_of_ranks():
    v, b = errors(), errors(seed=1)
    ranks = np.corrcoef(stats.rankdata(v), stats.rankdata(b))[0, 1]
    assert spearman(v, b) == pytest.approx(ranks)
    assert spearman(v, v**2) == pytest.approx(1.0)
    assert spearman(v, np.ones_like(v)) is None


def test_the_interval_is_the_same_each_time_and_covers():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(150):
        low, high = interval(rng.normal(1.0, 1.0, 40), resamples=500)
        covered += low <= 1.0 <= high
    assert 0.88 <= covered / 150 <= 1.0
    d = errors()
    assert interval(d) == interval(d)
    assert interval(np.ones(5)) == (1.0, 1.0)


# ---------------------------------------------------------------------------------------------
# What always holds


@settings(max_examples=30)
@given(PAIRS)
def test_swapping_variant_and_baseline_turns_signs_round(pair):
    v, b = pair
    here, there = statistics(v, b, margin=0.01), statistics(b, v, margin=0.01)
    assert here.median_difference == pytest.approx(-there.median_difference)
    assert here.share + there.share == pytest.approx(1 - np.mean(v == b))
    assert (here.p_lower, here.p_upper) == pytest.approx((there.p_upper, there.p_lower))
    assert here.p_different == pytest.approx(there.p_different)
    assert here.lean == -there.lean
    assert here.spearman == pytest.approx(there.spearman)


@settings(max_examples=30)
@given(ERRORS, st.floats(1.5, 20), st.sampled_from(["textbook", "published"]))
def test_a_shift_beyond_the_margin_is_never_equivalent(baseline, times, ranks):
    margin = default_margin(baseline)
    for sign in (1, -1):
        shifted = baseline + sign * times * margin
        assume((shifted > 0).all())
        assert max(equivalence(shifted - baseline, margin, ranks)) > 0.9
        assert lean(shifted - baseline) == sign


@settings(max_examples=30)
@given(PAIRS, st.sampled_from([0.25, 8.0, 1024.0]), st.sampled_from(["textbook", "published"]))
def test_the_unit_of_errors_does_not_matter(pair, unit, ranks):
    v, b = pair
    one, other = statistics(v, b, ranks=ranks), statistics(unit * v, unit * b, ranks=ranks)
    assert other.median_difference == pytest.approx(unit * one.median_difference)
    for name in ("share", "p_lower", "p_upper", "p_different", "glass", "spearman"):
        assert getattr(other, name) == pytest.approx(getattr(one, name))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_helps(p):
    adjusted = holm(p)
    assert all(a >= b for a, b in zip(adjusted, p, strict=True))
    assert max(adjusted) <= 1
    assert all(
        x <= y
        for a, x in zip(p, adjusted, strict=True)
        for b, y in zip(p, adjusted, strict=True)
        if a < b
    )


def test_p_values_are_uniform_under_the_null():
    rng = np.random.default_rng(0)
    margin, samples = 1.0, [rng.standard_t(3, 40) for _ in range(600)]
    found = {
        "two-sided": [difference(d) for d in samples],
        "lower, at its margin": [equivalence(d - margin, margin)[0] for d in samples],
        "upper, at its margin": [equivalence(d + margin, margin)[1] for d in samples],
    }
    for name, p in found.items():
        assert stats.kstest(p, "uniform").pvalue > 0.01, name


def test_published_ranks_reject_too_seldom_at_the_margin():
    rng = np.random.default_rng(1)
    p = [equivalence(rng.normal(-1.0, 1.0, 40), 1.0, "published")[0] for _ in range(300)]
    assert np.mean(np.array(p) < 0.05) < 0.01
    assert stats.kstest(p, "uniform").pvalue < 1e-6


# ---------------------------------------------------------------------------------------------
# What does not fit


def test_equal_errors_are_equivalent_and_not_different():
    b = errors()
    found = statistics(b, b)
    assert (found.p_different, found.lean, found.share) == (1.0, 0, 0.0)
    assert found.p_equivalent < 1e-6
    assert (found.median_difference, found.low, found.high) == (0.0, 0.0, 0.0)


def test_many_zeros_are_counted():
    d = np.r_[np.zeros(30), 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert difference(d) < 0.05
    assert lean(d) == 1
    assert equivalence(np.full(6, 0.1), 0.1)[1] == 1.0  # exactly at the margin: nothing is shown


@pytest.mark.parametrize(
    ("variant", "baseline", "words"),
    [
        ([1, 2], [1, 2], "at least 3 test functions .got 2"),
        ([1, 2, 3], [1, 2, 3, 4], r"'tl' has shape \(3,\)"),
        ([1, np.nan, 3], [1, 2, 3], "'tl' are no finite numbers on 1 of 3 .* first is 1"),
        ([1, 2, 3], [1, np.inf, np.inf], "'modified' are no finite numbers on 2 of 3"),
        ([1, 2, 3], [1, 0, 2], "'modified' has error 0 on test function 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(variant, baseline, words):
    with pytest.raises(pio.PioError, match=words):
        statistics(np.array(variant, float), np.array(baseline, float), names=("tl", "modified"))


def test_a_margin_is_positive_and_ranks_have_names():
    b = errors()
    for margin in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(pio.PioError, match="positive difference"):
            statistics(b, b, margin=margin)
    with pytest.raises(pio.PioError, match="'textbook' or 'published'"):
        pio.compare([], ranks="nonsense")


def test_with_a_margin_a_baseline_may_be_exact():
    b = np.r_[0.0, errors(20)]
    assert statistics(b, b, margin=0.001).p_equivalent < 0.05


def test_one_huge_difference_does_not_make_small_ones_equal():
    d = np.r_[np.linspace(1e-3, 2e-3, 30), 1e12]
    assert difference(d) == pytest.approx(stats.wilcoxon(d).pvalue)


def test_errors_that_differ_by_rounding_are_equal():
    baseline = errors(30)
    found = statistics(baseline * (1 + 2e-16), baseline)
    assert found.p_different == 1.0
