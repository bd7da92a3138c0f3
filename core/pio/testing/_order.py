"""The check of an order of convergence, and of solvers that refine nothing, or not all that they should."""

from __future__ import annotations

import jax
import numpy as np

from pio._certificate import relative_errors
from pio._differences import Stencil, inside
from pio._fields import parse
from pio._jet import Index
from pio._solve import solve
from pio._space import draw
from pio.testing._check import Unfit, check, measured, require
from pio.testing._diagnosis import Fields
from pio.testing._reference import by_name, findings, first
from pio.testing._residual import left, left_at, sizes, tabulated
from pio.testing._subject import Subject

REFINE = "multiply both the cells and the steps by `refine`"


@check("equation", after="makes fields broadcasts reference accuracy residual")
def order(subject: Subject) -> None:
    """Every reference converges with the order it declares, in all that it discretises."""
    equation = subject.product
    for name, found in findings(subject):
        if found.what == "order of convergence":
            require(
                found.holds,
                f"reference {name!r} of {subject.noun} declares order {found.bound + 0.3:g}, but its error falls as if "
                f"of order {found.value:.2g} when refined twice and four times.",
                f"{REFINE}, look for a term of lower order, or declare the order that it has.",
            )
        if found.what == "change when refined":
            require(
                found.holds,
                f"reference {name!r} of {subject.noun} declares no order, as a closed form may, but a refinement changes "
                f"it by {found.value:.2g}.",
                "declare its order: pio.Reference(solve, 'how', order=2.0).",
            )
    changes = {name: f.value for name, f in findings(subject) if f.what == "order of convergence"}
    for name in equation.references:
        if name in changes:
            _require_steps(subject, name)
    rest = _require_residual(subject, first(equation) in changes)
    if not changes:
        raise Unfit(
            f"refining changes nothing, and the residual is {rest:.1g}: the solutions are exact"
        )


def _require_residual(subject: Subject, converging: bool) -> float:
    """Refined, the truest reference leaves less of the residual, or has left no more than rounding does."""
    rest, name, step, fields = left(subject, 1)
    floor = max(1e-7, 100 * _rounding(subject, name, step, fields))
    if rest <= floor:
        return rest
    finer, _, _ = left_at(subject, step, 4)
    who = f"of reference {first(subject.product)!r}"
    require(
        converging or finer < rest / 2,
        f"refine = 2 and 4 give identical solutions {who}, yet the residual is {rest:.1g}: `refine` is not used.",
        f"{REFINE}; a closed form needs neither, and leaves a residual of rounding alone.",
    )
    require(
        finer < rest / 2 or finer <= floor,
        f"the residual {who} is {rest:.1g} and, refined 4 times, {finer:.1g}: something in it is not refined.",
        f"{REFINE}; what is not refined does not show in its order and accuracy.",
    )
    return rest


def _rounding(subject: Subject, name: str, step: float, fields: Fields) -> float:
    """What rounding of the solution does to a residual by differences, relative to its largest term."""
    equation, values = subject.product, tabulated(subject, step, 1)
    counts = sizes(equation.residual, fields)[name]
    stencils = [inside(c, step) for c in equation.domain.coordinates]
    total = 0.0
    for field in fields:
        base, orders = parse(field, equation.domain, (*equation.unknowns, "u"))
        size = float(np.abs(fields[field]).max())
        if base in equation.domain.names or not size:
            continue
        total += (
            counts[field] / size * float(np.abs(values(base)).max()) * _spread(stencils, orders)
        )
    return 2e-16 * total / max(*counts.values(), 1e-300)


def _spread(stencils: list[Stencil], orders: Index) -> float:
    """By how much differences of these orders magnify an error."""
    return float(
        np.prod([np.abs(s.weights(n)).sum() for s, n in zip(stencils, orders, strict=True)])
    )


@measured
def _sample(subject: Subject) -> np.ndarray:
    return draw(subject.product.inputs, jax.random.key(0), 1)


def _require_steps(subject: Subject, name: str) -> None:
    """Asked at twice as many times, a refined reference says the same: solvers often step from one time to the next."""
    equation = subject.product
    if "t" not in equation.domain.names:
        return
    u, t = _sample(subject), np.asarray(equation.grid["t"], float)
    more = np.sort(np.concatenate([t, (t[1:] + t[:-1]) / 2]))
    axis = equation.domain.axes.index("t")

    def run(refine: int, times: np.ndarray) -> dict[str, np.ndarray]:
        points = {**equation.grid, "t": times}
        return by_name(equation, solve(equation, u, points, reference=name, refine=refine))

    coarse, fine, other = run(2, t), run(4, t), run(4, more)
    for unknown, s in fine.items():
        change = float(relative_errors(coarse[unknown], s).max())
        distance = float(
            relative_errors(other[unknown].take(range(0, len(more), 2), axis), s).max()
        )
        require(
            distance <= max(change, 1e-9),
            f"reference {name!r} of {subject.noun}, refined 4 times, changes by {distance:.1g} when it is asked at twice "
            f"as many times, yet by {change:.1g} when it is refined: its steps in time are not.",
            f"{REFINE}; what is not refined does not show in its order and accuracy.",
        )
