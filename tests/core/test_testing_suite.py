"""A suite runs its checks in order, and says what it found."""

from __future__ import annotations

import re
from functools import partial

import pytest
from tests.core.caught import REGISTRY, assert_caught, result
from tests.core.heat import Heat
from tests.core.test_testing_optimizer import Steps

import pio
import pio.testing


def test_a_suite_runs_checks_behind_what_they_come_after():
    for kind, checks in pio.testing.CHECKS.items():
        names = [c.name for c in pio.testing.suite(kind, "any").checks]
        assert sorted(names) == sorted(checks)
        for check in checks.values():
            before = names[: names.index(check.name)]
            assert set(check.after) & set(names) <= set(before), check


def test_checks_have_a_summary_and_hyphenated_names():
    for checks in pio.testing.CHECKS.values():
        for check in checks.values():
            assert check.summary
            assert not check.summary.endswith(".")
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.name)


class Raising(Heat):
    @property
    def inputs(self):
        return 1 / 0


def test_a_member_that_raises_is_caught_with_its_line():
    line = Raising.inputs.fget.__code__.co_firstlineno + 2
    what = (
        rf"Raising\.inputs raised ZeroDivisionError: .* \(.*test_testing_suite\.py, line {line}\)"
    )
    assert_caught("equation", Raising, "makes", what)


def test_what_cannot_be_made_leaves_the_rest_unrun():
    class Lacking:
        """No equation at all."""

    found = {r.check: r for r in pio.testing.suite("equation", Lacking).results()}
    assert found["makes"].state == "failed"
    assert "lacks domain and inputs" in found["makes"].what
    assert found["residual"].state == "skipped"
    assert found["residual"].what == "`makes` failed"


class Exploding(Heat):
    def conditions(self):
        raise ValueError("boom")


def test_one_mistake_is_told_once():
    found = list(pio.testing.suite("equation", Exploding, registry=REGISTRY).results())
    failed = [r for r in found if r.state == "failed"]
    assert [r.check for r in failed if "boom" in r.what] == ["fields"], failed
    assert {r.what for r in found if r.check in ("posed", "broadcasts", "trains")} == {
        "`fields` failed"
    }


class Nameless(Heat):
    grid = 3


def test_an_exception_in_no_line_of_the_author_sends_nobody_to_one():
    found = result("equation", Nameless, "fields")
    assert "in none of its own lines" in found.what
    assert "that line" not in found.mend


def test_calling_a_suite_raises_all_that_is_wrong():
    suite = pio.testing.suite("optimizer", partial(Steps, "upwards"), registry=REGISTRY)
    with pytest.raises(AssertionError, match=r"descends: Steps takes a quadratic .*\nTo mend it: "):
        suite()


def test_a_kind_or_plugin_that_is_none_is_refused():
    with pytest.raises(
        pio.PioError, match="no checks of a kind 'equations'; did you mean 'equation'"
    ):
        next(pio.testing.suite("equations", Heat).results())
    with pytest.raises(pio.PioError, match="or the class that makes it"):
        next(pio.testing.suite("equation", Heat()).results())
