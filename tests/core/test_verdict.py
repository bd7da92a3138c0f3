"""A verdict says what the tests found, and no more."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pio._statistics import statistics
from pio._verdict import verdicts

BASE = np.random.default_rng(0).lognormal(-5, 0.3, 60)
NOISE = np.random.default_rng(1).normal(0, 1, 60)


def verdict(variant, baseline=BASE, **options):
    return verdicts([statistics(variant, baseline, **options)], ["tl"], "modified")[0]


@pytest.mark.parametrize(
    ("kind", "variant", "words"),
    [
        ("better", 0.7 * BASE, "tl is better than modified (p < 0.001)"),
        ("worse", 1.3 * BASE, "error is larger by"),
        ("worse", 3.0 * BASE, "200 % of the baseline’s median error"),
        ("equivalent", BASE + 1e-6 * NOISE, "tl is equivalent to modified: in the median"),
        ("equivalent", BASE + 1e-5, "though by more than nothing (p < 0.001)"),
        ("undecided", BASE + 0.004 * NOISE, "neither be told apart nor called equivalent"),
    ],
)
def test_what_the_errors_are_like_decides(kind, variant, words):
    found = verdict(np.abs(variant))
    assert found.kind == kind
    assert words in found.words
    assert found.words.endswith("of the test functions.")


def test_by_how_much_is_in_the_words():
    baseline = np.linspace(0.01, 0.02, 41)
    assert (
        "In the median its error is smaller by 0.500 percentage points (95 % interval 0.500 to 0.500), "
        "33 % of the baseline’s median error. It is smaller on 100 % of the test functions."
    ) in verdict(baseline - 0.005, baseline).words


def test_too_few_functions_cannot_tell():
    found = verdict(0.1 * BASE[:4], BASE[:4])
    assert found.kind == "undecided"
    assert "4 test functions are too few to tell" in found.words


def test_a_median_and_ranks_that_disagree_decide_nothing():
    # Most are a little better, some are much worse.
    d = np.r_[np.full(31, -1e-5), np.full(29, 1e-2)] * np.linspace(1, 2, 60)
    found = verdict(BASE + d, margin=1e-6)
    assert found.p_different < 0.05
    assert found.kind == "undecided"
    assert "different sides" in found.words


def test_several_variants_are_held_to_more():
    shifted = BASE + 0.0012 * (NOISE - NOISE.mean() + 0.22)
    alone = statistics(shifted, BASE, margin=1e-4)
    assert 0.01 < alone.p_different < 0.05
    many = verdicts([alone] * 6, list("abcdef"), "modified")
    assert verdict(shifted, margin=1e-4).kind == "worse"
    assert [v.kind for v in many] == ["undecided"] * 6
    assert many[0].p_different == pytest.approx(6 * alone.p_different)


@given(
    d=st.lists(st.integers(-60, 60), min_size=14, max_size=25),
    margin=st.integers(1, 40),
    ranks=st.sampled_from(["textbook", "published"]),
)
def test_what_is_equivalent_has_a_median_within_the_margin(d, margin, ranks):
    d = np.array(d) / 512
    baseline = np.full(len(d), 0.5)
    found = verdict(baseline + d, baseline, margin=margin / 512, ranks=ranks)
    if found.kind == "equivalent":
        assert abs(np.median(baseline + d - baseline)) < margin / 512


def test_a_median_beyond_the_margin_is_not_called_equivalent():
    # Just over half are a little worse than the margin, the others much better than it.
    d = np.r_[np.full(53, 1.01e-3), np.linspace(-8e-4, -1e-5, 47)]
    baseline = np.linspace(0.01, 0.02, 100)
    found = verdict(baseline + d, baseline, margin=1e-3)
    assert found.p_equivalent < 0.05
    assert found.kind == "undecided"
    assert "the median and the ranks disagree" in found.words


def test_of_few_seeds_only_these_networks_are_spoken_of():
    found = statistics(0.7 * BASE, BASE)
    few, many = verdicts([found, found], ["tl", "bx"], "modified", few=["tl"])
    assert few.words.startswith("Of these networks, tl is better than modified")
    assert many.words.startswith("bx is better than modified")
