"""The check that matters most: the reference solves the equation that `residual` states. And if not, why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pio import _differences as differences
from pio._errors import PioError
from pio._fields import asked
from pio._solve import solve
from pio.testing._check import Failure, check, measured, require
from pio.testing._diagnosis import Fields, diagnosis
from pio.testing._reference import first
from pio.testing._subject import Subject
from pio.testing._try import functions, parts

SMALL = 1e-3
"""A residual that vanishes, relative to the largest term. Of a wrong equation it is of order one."""

STEPS = (1 / 64, 1 / 512, 1 / 4096)
"""Distances of neighbours, as shares of a coordinate. Solutions differ in which of them errs least."""


@measured
def tabulated(subject: Subject, step: float, refine: int) -> Callable[[str], np.ndarray]:
    equation = subject.product
    u = functions(equation, 2)
    return differences.fields(
        equation,
        u,
        lambda points: solve(equation, u, points, refine=refine),
        {c.name: differences.inside(c, step) for c in equation.domain.coordinates},
    )


def sizes(residual: Callable[..., Any], fields: Fields) -> dict[str, dict[str, float]]:
    """How much each field counts in each residual: the root mean square of what goes when it is zero."""
    whole = parts(residual(**fields))
    found: dict[str, dict[str, float]] = {name: {} for name in whole}
    for field in fields:
        without = parts(residual(**{**fields, field: np.zeros_like(fields[field])}))
        for name, value in whole.items():
            found[name][field] = _rms(value - without[name])
    return found


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@measured
def left_at(subject: Subject, step: float, refine: int) -> tuple[float, str, Fields]:
    """The largest residual with neighbours so far apart, relative to its largest term; whose it is; the fields."""
    residual = subject.product.residual
    field = tabulated(subject, step, refine)
    fields = {name: field(name) for name in asked(residual)}
    counts = sizes(residual, fields)
    worst = max(
        (float(np.median(np.abs(value))) / max(*counts[name].values(), 1e-300), name)
        for name, value in parts(residual(**fields)).items()
    )
    return (*worst, fields)


def left(subject: Subject, refine: int) -> tuple[float, str, float, Fields]:
    """The least residual over the steps: relative to its largest term, whose it is, and at which fields."""
    found = [(step, left_at(subject, step, refine)) for step in STEPS]
    step, (rest, name, fields) = min(found, key=lambda item: item[1][0])
    return rest, name, step, fields


@check("equation", after="makes fields broadcasts reference")
def residual(subject: Subject) -> None:
    """The reference makes the residual vanish, differentiated by finite differences."""
    equation = subject.product
    rest, name, step, fields = left(subject, 1)
    counts = sizes(equation.residual, fields)
    which = f"residual {name!r}" if name else "residual"
    idle = [n for n, own in counts.items() if not max(own.values()) > 0]
    require(
        not idle,
        f"the {which} of {subject.noun} is the same whatever the fields are.",
        "let `residual` return the equation, all on one side: s_t - self.alpha * s_xx.",
    )
    if rest <= SMALL:
        return
    # A coarse solver leaves a residual of its own, which refinement drives out; a wrong one does not.
    finer = [left(subject, refine)[0] for refine in (2, 4)]
    if finer[0] < rest / 1.5 and finer[1] < finer[0] / 1.5 and rest < 0.1:
        return
    terms = ", ".join(f"{field} {size:.2g}" for field, size in counts[name].items())
    trail = ", ".join(f"{r:.2g}" for r in (rest, *finer))
    raise Failure(
        f"{subject.noun}.residual{f'[{name!r}]' if name else ''} leaves {rest:.2g} of its largest term at the solutions of reference "
        f"{first(equation)!r} ({trail} when that is refined 1, 2 and 4 times); fields count by {terms}.",
        diagnosis(
            equation,
            name,
            _optional(tabulated(subject, step, 1)),
            fields,
            max(counts[name].values()),
        )
        or "compare the signs, factors and orders of differentiation in `residual` with what the solver solves.",
    )


def _optional(field: Callable[[str], np.ndarray]) -> Callable[[str], np.ndarray | None]:
    """Any field by name at the same places, or nothing if there is no such field."""

    def lookup(wanted: str) -> np.ndarray | None:
        try:
            return field(wanted)
        except PioError:
            return None

    return lookup
