"""Checks that a problem is posed: something depends on u, and there are conditions enough."""

from __future__ import annotations

from pio._domain import Coordinate
from pio._equation import Condition, Equation
from pio._fields import asked, parse
from pio.testing._check import Advice, check, require
from pio.testing._subject import Subject


@check("equation", after="makes fields")
def posed(subject: Subject) -> None:
    """Something of the problem depends on u, and there are conditions enough to determine a solution."""
    equation = subject.product
    terms = [equation.residual, *(c.residual for c in equation.conditions())]
    given = {name.partition("_")[0] for term in terms for name in asked(term)}
    if hasattr(equation, "ansatz"):  # which may ask for features of its own, made of u
        given |= set(asked(equation.ansatz)) - {"n", *equation.domain.names}
    require(
        given - set(equation.unknowns) - set(equation.domain.names),
        f"nothing of the problem depends on u: neither {subject.noun}.residual nor a condition asks for it, so there is "
        "one solution for all.",
        "ask for u where it enters: pio.Condition('initial', {'t': 0.0}, lambda s, u: s - u), or as a parameter of "
        "`residual` if it is a source or a coefficient.",
    )
    lacking = [
        text
        for unknown in equation.unknowns
        for c in equation.domain.coordinates
        if not c.periodic and (text := _lack(equation, unknown, c))
    ]
    if lacking:
        raise Advice(
            "; ".join(lacking) + ".",
            "Many solutions may do. If a condition is missing, add it: pio.Condition(name, {coordinate: end}, residual).",
        )


def _lack(equation: Equation, unknown: str, c: Coordinate) -> str:
    """What is odd about the number of conditions at both ends of a coordinate."""
    k = equation.domain.names.index(c.name)
    fields = [
        parse(name, equation.domain, (*equation.unknowns, "u")) for name in asked(equation.residual)
    ]
    order = max((f.orders[k] for f in fields if f.base == unknown), default=0)
    low, high = (
        sum(_concerns(condition, unknown, c.name, end) for condition in equation.conditions())
        for end in (c.low, c.high)
    )
    often = f"{unknown} is differentiated {_TIMES.get(order, f'{order} times')} by {c.name}"
    if c.name == "t":
        # All at the end is a problem that runs backwards.
        few = max(low, high)
        return f"{often}, but it has {_count(few)} at t = {c.low:g}" if few < order else ""
    if order >= 2 and not (low and high):
        where = f"at {c.name} = {c.low if low else c.high:g} alone" if low or high else "at no end"
        return f"{often}, which is not periodic, but conditions on it are {where}"
    return ""


_TIMES = {1: "once", 2: "twice"}


def _count(number: int) -> str:
    return {0: "no condition", 1: "one condition"}.get(number, f"{number} conditions")


def _concerns(condition: Condition, unknown: str, coordinate: str, end: float) -> bool:
    """Whether a condition says something about an unknown at one end of a coordinate."""
    faces = filter(None, (condition.at, condition.versus))
    named = {name.partition("_")[0] for name in asked(condition.residual)}
    return unknown in named and any(face.get(coordinate) == end for face in faces)
