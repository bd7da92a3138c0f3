"""The check that matters most: the reference solves the equation that `residual` states. And if not, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pio import _differences as differences
from pio._equation import Equation
from pio._errors import PioError
from pio._fields import asked
from pio._solve import solve
from pio.testing._check import Failure, check, measured, require
from pio.testing._reference import first
from pio.testing._subject import Subject
from pio.testing._try import functions, parts

Fields = Mapping[str, np.ndarray]

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
        f"{subject.noun}.residual leaves {rest:.2g} of its largest term at the solutions of reference "
        f"{first(equation)!r} ({trail} when that is refined 1, 2 and 4 times); fields count by {terms}.",
        _diagnosis(equation, name, _optional(tabulated(subject, step, 1)), fields)
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


def _diagnosis(
    equation: Equation, name: str, field: Callable[[str], np.ndarray | None], fields: Fields
) -> str:
    """What would make the residual vanish: one field turned, left out or exchanged; or one term more."""
    residual = equation.residual
    scale = max(sizes(residual, fields)[name].values())

    def small(values: Any) -> bool:
        return float(np.median(np.abs(values))) < 10 * SMALL * scale

    def changed(**others: np.ndarray) -> bool:
        return small(parts(residual(**{**fields, **others}))[name])

    # An author doubts a term in space before the one in time.
    fields = dict(sorted(fields.items(), key=lambda item: item[0].endswith("_t")))
    for f, values in fields.items():
        if changed(**{f: -values}):
            return f"with the other sign of {f} it would vanish; one of `residual` and the solver has it wrong."
    for f, values in fields.items():
        if changed(**{f: np.zeros_like(values)}):
            return f"without {f} it would vanish; one of `residual` and the solver has it too much."
    for f in fields:
        base, _, letters = f.partition("_")
        others = {letters[:-1], *(letters + c for c in equation.domain.names)} if letters else set()
        others |= {c for c in equation.domain.names if len(letters) == 1} - {letters}
        for other in sorted(others):
            called = f"{base}_{other}" if other else base
            instead = field(called)
            if instead is not None and called not in fields and changed(**{f: instead}):
                return f"with {called} in place of {f} it would vanish; is that what is meant?"
    whole = parts(residual(**fields))[name]
    for f, values in fields.items():
        # The factor a field would need, if the residual is linear in it: r + (c − 1) ∂r = 0.
        term = whole - parts(residual(**{**fields, f: np.zeros_like(values)}))[name]
        factor = 1 - float(np.sum(whole * term) / max(np.sum(term * term), 1e-300))
        if changed(**{f: factor * values}):
            return f"with {factor:.3g} times {f} it would vanish; a factor differs between `residual` and the solver."
    for text, values in _candidates(equation, field):
        values = np.broadcast_to(values, whole.shape)
        factor = -float(np.sum(whole * values) / max(np.sum(values * values), 1e-300))
        if small(whole + factor * values):
            return f"with {factor:+.3g} {text} added it would vanish; is that term missing?"
    return ""


def _candidates(
    equation: Equation, field: Callable[[str], np.ndarray | None]
) -> list[tuple[str, np.ndarray]]:
    """Terms that equations often have."""
    space = [n for n in equation.domain.names if n != "t"]
    names = ["u", *equation.unknowns, *space, *(["t"] if "t" in equation.domain.names else [])]
    for s in equation.unknowns:
        names += [f"{s}_{c * order}" for order in (1, 2, 3, 4) for c in equation.domain.names]
    found = {n: values for n in names if (values := field(n)) is not None}
    terms = [("1", np.ones(())), *found.items()]
    for s in equation.unknowns:
        terms += [(f"{s}²", found[s] ** 2), (f"{s}³", found[s] ** 3)]
        terms += [
            (f"{a} {b}", found[a] * found[b])
            for a in ("u", *equation.unknowns)
            for b in (s, *(f"{s}_{c}" for c in space))
            if a in found and b in found
        ]
    return terms
