"""A suite: all checks of one plugin, to be run by pytest, by a command, or by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import jax

from pio._errors import PioError, suggestion
from pio._registry import Registry
from pio.testing._check import CHECKS, Advice, Check, Failure, Unfit, blame, culprit
from pio.testing._subject import Subject


@dataclass(frozen=True)
class Result:
    """What came of one check: `what` was found, and how to `mend` it."""

    kind: str
    name: str
    check: str
    summary: str
    state: Literal["passed", "advice", "skipped", "failed"]
    what: str = ""
    mend: str = ""
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, eq=False)
class Suite:
    """The checks of one plugin. Pytest makes each of them a test; called, it runs them all.

    test_heat = pio.testing.suite("equation", Heat)
    """

    kind: str
    plugin: Any
    options: Mapping[str, Any]
    registry: Registry | None = None

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Those of the kind, each behind what it comes after."""
        left, done = dict(CHECKS[self.kind]), {}
        while left:
            free = (c for c in left.values() if not left.keys() & set(c.after))
            check = next(free, next(iter(left.values())))
            done[check.name] = left.pop(check.name)
        return tuple(done.values())

    @cached_property
    def subject(self) -> Subject:
        return Subject.of(self.kind, self.plugin, self.options, self.registry)

    def run(self, check: Check) -> None:
        """Run one check, in double precision: raises what it raises, and a `Failure` for any error."""
        __tracebackhide__ = True
        try:
            subject = self.subject
        except PioError as error:
            raise Failure(
                str(error),
                "install the plugin (`pip install -e .` in its project), or give its class.",
            ) from error
        lacking = [name for name in check.after if name in subject.failed]
        if lacking:
            # What comes after this one lacks the same.
            subject.failed[check.name] = subject.failed[lacking[0]]
            raise Unfit(f"`{subject.failed[check.name]}` failed")
        try:
            with jax.enable_x64(True):
                check.run(subject)
        except (Advice, Unfit):
            raise
        except Failure:
            subject.failed[check.name] = check.name
            raise
        except Exception as error:
            # One mistake stops many checks: it is told once.
            line = culprit(error)
            key = f"{type(error).__name__} {line}" if line else blame(error)
            told = subject.raised.setdefault(key, check.name)
            subject.failed[check.name] = told
            if told != check.name:
                raise Unfit(f"it stops as `{told}` does") from error
            raise _failure(subject, check, error) from error

    def results(
        self, only: str = "", begin: Callable[[Check], None] = lambda check: None
    ) -> Iterator[Result]:
        """Run the checks whose names contain `only`; `begin` hears of each before it runs."""
        for check in self.checks:
            if only in check.name:
                begin(check)
                yield self._result(check)

    def _result(self, check: Check) -> Result:
        about = (self.kind, self.subject.name, check.name, check.summary)
        start = time.perf_counter()
        state: Literal["passed", "advice", "skipped", "failed"] = "passed"
        what = mend = ""
        try:
            self.run(check)
        except Failure as failure:
            state, what, mend = "failed", failure.what, failure.mend
        except Advice as advice:
            state, what, mend = "advice", advice.what, advice.mend
        except Unfit as unfit:
            state, what = "skipped", str(unfit)
        return Result(*about, state, what, mend, time.perf_counter() - start)

    def __call__(self) -> None:
        """Run all checks, and fail with everything that is wrong."""
        failed = [r for r in self.results() if r.state == "failed"]
        if failed:
            raise AssertionError(
                "\n\n".join(f"{r.check}: {Failure(r.what, r.mend)}" for r in failed)
            )


def suite(
    kind: str,
    plugin: Any,
    *,
    registry: Registry | None = None,
    **options: Any,
) -> Suite:
    """All checks of a plugin, given by its class (or by name, if it is installed) and options.

    In a file that pytest collects, this is one test per check:

        test_heat = pio.testing.suite("equation", Heat)
        test_slow_heat = pio.testing.suite("equation", Heat, alpha=0.01)
    """
    if kind not in CHECKS:
        raise PioError(f"there are no checks of a kind {kind!r}{suggestion(kind, CHECKS)}")
    return Suite(kind, plugin, options, registry)


def _failure(subject: Subject, check: Check, error: Exception) -> Failure:
    """An exception as a failure; a `PioError` says itself what to do."""
    if isinstance(error, PioError):
        return Failure(str(error), "")
    wanted = f"the check wanted to know whether {_lower(check.summary)}."
    if culprit(error):
        return Failure(f"{subject} raised {blame(error)}", f"look at that line; {wanted}")
    return Failure(
        f"{subject} raised {blame(error)}, in none of its own lines",
        f"look at what its members return; {wanted}",
    )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
