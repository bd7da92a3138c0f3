"""Checks of an equation's references: what they answer, at the faces too, and how accurately."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pio import _differences as differences
from pio._certificate import Certificate, Finding, certify
from pio._equation import Condition, Equation
from pio._fields import asked, parse
from pio._solve import find_reference, solve
from pio._space import read
from pio.testing._check import Unfit, check, measured, require
from pio.testing._subject import Subject
from pio.testing._try import functions, gap, parts


def first(equation: Equation) -> str:
    """The name of the truest reference."""
    require(
        equation.references,
        f"{type(equation).__name__}.references is empty, so nothing can be compared with the truth.",
        "give at least one solver: references = {'spectral': pio.Reference(solve, 'how', order=4.0)}.",
    )
    return next(iter(equation.references))


def by_name(equation: Equation, s: Any) -> dict[str, np.ndarray]:
    return dict(s) if isinstance(s, Mapping) else {equation.unknowns[0]: s}


@measured
def solved(subject: Subject) -> dict[str, np.ndarray]:
    equation = subject.product
    return by_name(equation, solve(equation, functions(equation)))


@check("equation", after="makes fields sampling spaces")
def reference(subject: Subject) -> None:
    """The reference answers at any points, aligned, finite, in float64, for each function as if alone."""
    equation = subject.product
    name = first(equation)
    u = functions(equation)
    shape = (len(u), *(len(equation.grid[n]) for n in equation.domain.names))
    s = solved(subject)
    who = f"reference {name!r} of {subject.noun}"
    require(
        set(s) == set(equation.unknowns),
        f"{who} returns {', '.join(s)}, but the unknowns are {', '.join(equation.unknowns)}.",
        "return an array for one unknown, or a mapping from each unknown to its array.",
    )
    for unknown, values in s.items():
        axes = ", ".join(equation.domain.axes)
        require(
            np.shape(values) == shape,
            f"{who} returns {unknown} of shape {np.shape(values)} on the grid, where ({axes}) is {shape}.",
            f"return arrays aligned on ({axes}), one entry per function and point asked for.",
        )
        require(
            np.asarray(values).dtype == np.float64,
            f"{who} returns {unknown} in {np.asarray(values).dtype}.",
            "compute in float64, with NumPy or with JAX under jax.enable_x64(True): a truth in single "
            "precision hides errors of a model.",
        )
        require(
            np.isfinite(values).all(),
            f"{who} is not finite at {np.size(values) - np.isfinite(values).sum()} of {np.size(values)} points.",
            "refine its discretisation for such functions, or draw tamer ones in `inputs`.",
        )
    bound = 10 * find_reference(equation, name).accuracy
    with jax.enable_x64(False):
        single = by_name(equation, solve(equation, u))
    alone = by_name(equation, solve(equation, u[1]))
    some = {n: p[:: max(1, len(p) // 3)] for n, p in equation.grid.items()}
    few = by_name(equation, solve(equation, u, some))
    for unknown, values in s.items():
        other = gap(single[unknown], values)
        require(
            other < 1e-6,
            f"{who} changes {unknown} by {other:.1g} (relative) when JAX is set to single precision.",
            "read u with pio.read(self.inputs, u, x), which is always in double precision, and solve likewise.",
        )
        other = gap(alone[unknown][0], values[1])
        require(
            other < 1e-6,
            f"{who} gives function 1 another {unknown} among three functions than alone (relative difference {other:.1g}).",
            "do not let functions share a step size, a norm or a loop that stops with the slowest.",
        )
        where = np.ix_(
            range(len(u)),
            *(range(0, shape[k + 1], max(1, shape[k + 1] // 3)) for k in range(len(some))),
        )
        other = gap(few[unknown], values[where])
        require(
            other < bound,
            f"{who} gives another {unknown} at the same points when fewer are asked for (relative difference {other:.1g}).",
            "solve on a grid of its own, finer than what is asked for, and read the solution from it "
            "(pio.resample does).",
        )


# ---------------------------------------------------------------------------------------------
# Conditions


@check("equation", after="makes fields broadcasts reference")
def conditions(subject: Subject) -> None:
    """The reference meets every condition."""
    equation = subject.product
    u = functions(equation)
    if not equation.conditions():
        raise Unfit("the equation has no conditions")
    tolerance = max(1e-4, 10 * find_reference(equation).accuracy)
    for condition in equation.conditions():
        sides = [_on_face(equation, u, condition, face) for face in _faces(condition)]
        for name, values in sides[0].items():
            other = sides[1][name] if len(sides) > 1 else np.zeros(())
            scale = max(1.0, np.abs(values).max(), np.abs(other).max())
            distance = float(np.abs(values - other).max() / scale)
            require(
                distance < tolerance,
                f"reference {first(equation)!r} of {subject.noun} misses condition {condition.name!r} by "
                f"{distance:.2g}, at {_where(condition)}.",
                "compare the face, the values given there and the sign in the condition with what the solver "
                "does at that face.",
            )


def _faces(condition: Condition) -> list[Mapping[str, float]]:
    return [condition.at, *([condition.versus] if condition.versus else [])]


def _where(condition: Condition) -> str:
    return " against ".join(
        ", ".join(f"{name} = {value:g}" for name, value in face.items())
        for face in _faces(condition)
    )


def _on_face(
    equation: Equation, u: np.ndarray, condition: Condition, face: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """The condition's residuals at a face, with one-sided differences across it."""
    names = asked(condition.residual)
    orders = [parse(n, equation.domain, (*equation.unknowns, "u")).orders for n in names]
    stencils = {}
    for k, c in enumerate(equation.domain.coordinates):
        if c.name in face:
            stencils[c.name] = differences.at_end(c, face[c.name], 3e-4)
        elif any(order[k] for order in orders):
            stencils[c.name] = differences.inside(c, 1 / 512)
        else:
            places = np.linspace(c.low, c.high, 21)
            stencils[c.name] = differences.Stencil(places, np.zeros(1))
    field = differences.fields(equation, u, lambda points: solve(equation, u, points), stencils)
    found = parts(condition.residual(**{name: field(name) for name in names}))
    return {key: np.asarray(value) for key, value in found.items()}


@check("equation", after="makes fields broadcasts reference")
def periodic(subject: Subject) -> None:
    """Along coordinates declared periodic, the input functions and the reference are."""
    equation = subject.product
    if not equation.domain.periodic:
        raise Unfit("no coordinate is periodic")
    u = functions(equation)
    tolerance = max(1e-4, 10 * find_reference(equation).accuracy)
    for name in equation.domain.periodic:
        c = equation.domain[name]
        ends = (c.low, c.high)
        mend = f"solve with periodic ends, or declare pio.Coordinate({name!r}, …) without periodic=True."
        if name in equation.inputs.coordinates:
            low, high = (_inputs_at(equation, u, name, end) for end in ends)
            require(
                gap(low, high) < 1e-4,
                f"{name} is periodic, but u at {name} = {c.low:g} and {c.high:g} differs by {gap(low, high):.2g} "
                "(relative).",
                f"draw periodic functions (pio.PeriodicField), or declare {name} without periodic=True.",
            )
        for order in (0, 1):
            spelled = tuple(s if not order else f"{s}_{name}" for s in equation.unknowns)
            sides = [_ends(equation, u, name, end, spelled) for end in ends]
            for field in spelled:
                distance = gap(*(side[field] for side in sides))
                require(
                    distance < tolerance * 10**order,
                    f"{name} is periodic, but {field} of reference {first(equation)!r} at {name} = {c.low:g} and "
                    f"{c.high:g} differs by {distance:.2g} (relative).",
                    mend,
                )


def _inputs_at(equation: Equation, u: np.ndarray, name: str, end: float) -> np.ndarray:
    """u at one end of a coordinate, at a few values of its other ones."""
    share = np.linspace(0.1, 0.9, 5)
    places = [
        np.full(5, end) if n == name else equation.domain[n].low + share * equation.domain[n].length
        for n in equation.inputs.coordinates
    ]
    return read(equation.inputs, u, *places)


def _ends(
    equation: Equation, u: np.ndarray, name: str, end: float, names: tuple[str, ...]
) -> dict[str, np.ndarray]:
    stencils = {
        c.name: differences.at_end(c, end, 3e-4)
        if c.name == name
        else differences.Stencil(np.linspace(c.low, c.high, 11), np.zeros(1))
        for c in equation.domain.coordinates
    }
    field = differences.fields(equation, u, lambda points: solve(equation, u, points), stencils)
    return {n: field(n) for n in names}


# ---------------------------------------------------------------------------------------------
# Accuracy


@measured
def _certificate(subject: Subject, reference: str) -> Certificate:
    return certify(subject.product, reference, functions=2)


def findings(subject: Subject) -> list[tuple[str, Finding]]:
    first(subject.product)
    return [
        (name, finding)
        for name in subject.product.references
        for finding in _certificate(subject, name).findings
    ]


@check("equation", after="makes fields broadcasts reference")
def accuracy(subject: Subject) -> None:
    """Every reference is as accurate as it declares."""
    for name, found in findings(subject):
        if found.what == "error":
            require(
                found.holds,
                f"reference {name!r} of {subject.noun} declares an accuracy of {found.bound:g}, but its relative error is "
                f"{found.value:.2g}: what a twofold refinement changes, or how far it is from the first reference.",
                "refine its discretisation (more cells, shorter steps), or declare accuracy=… as it is.",
            )


@check("equation", after="makes fields broadcasts reference")
def laws(subject: Subject) -> None:
    """Every reference obeys the laws it declares."""
    known = {"error", "order of convergence", "change when refined", "residual"}
    seen = [(name, f) for name, f in findings(subject) if f.what not in known]
    if not seen:
        raise Unfit("no reference declares a law")
    for name, found in seen:
        require(
            found.holds,
            f"reference {name!r} of {subject.noun} departs from its law {found.what!r} by {found.value:.2g} "
            f"(tolerance {found.bound:g}).",
            "look whether the law holds for this equation and these conditions, and whether `quantity` is of order "
            "one (divide by a norm of s).",
        )
