"""A diagnosis: what would make a residual vanish that does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pio._equation import Equation
from pio.testing._try import parts

Fields = Mapping[str, np.ndarray]
Lookup = Callable[[str], np.ndarray | None]
"""A field by name, or nothing if there is no such field."""

Terms = dict[str, np.ndarray]


def diagnosis(equation: Equation, name: str, field: Lookup, fields: Fields, scale: float) -> str:
    """One field turned, left out or exchanged; a constant; a factor; one term or two that differ.

    `scale` is the size of the largest term. What is found has to explain nine tenths of what is left.
    """
    residual = equation.residual
    # An author doubts a term in space before the one in time.
    fields = dict(sorted(fields.items(), key=lambda item: item[0].endswith("_t")))
    whole = np.asarray(parts(residual(**fields))[name])
    enough = min(1e-2 * scale, 0.1 * float(np.median(np.abs(whole))))

    def small(values: Any) -> bool:
        return float(np.median(np.abs(values))) < enough

    def changed(**others: np.ndarray) -> bool:
        return small(parts(residual(**{**fields, **others}))[name])

    for f, values in fields.items():
        if changed(**{f: -values}):
            return f"with the other sign of {f} it would vanish; one of `residual` and the solver has it wrong."
    for f, values in fields.items():
        if changed(**{f: np.zeros_like(values)}):
            return f"without {f} it would vanish; one of `residual` and the solver has it too much."
    for f in fields:
        for called in _neighbours(equation, f):
            instead = field(called)
            if instead is not None and called not in fields and changed(**{f: instead}):
                return f"with {called} in place of {f} it would vanish; is that what is meant?"
    for f, values in fields.items():
        # The factor a field would need, if the residual is linear in it: r + (c − 1) ∂r = 0.
        term = whole - parts(residual(**{**fields, f: np.zeros_like(values)}))[name]
        factor = 1 - float(np.sum(whole * term) / max(np.sum(term * term), 1e-300))
        if changed(**{f: factor * values}):
            return (
                f"with {_digits(factor)} times {f} it would vanish; a factor differs between `residual` and the "
                "solver."
            )
    return _combined(equation, name, field, fields, whole, small)


def _neighbours(equation: Equation, field: str) -> list[str]:
    """Fields that may have been meant: one derivative less, more, or by another coordinate."""
    base, _, letters = field.partition("_")
    others = {letters[:-1], *(letters + c for c in equation.domain.names)} if letters else set()
    others |= {c for c in equation.domain.names if len(letters) == 1} - {letters}
    return [f"{base}_{other}" if other else base for other in sorted(others)]


def _combined(
    equation: Equation,
    name: str,
    field: Lookup,
    fields: Fields,
    whole: np.ndarray,
    small: Callable[[Any], bool],
) -> str:
    """One term or two with other factors, by least squares; those that `residual` has already come first."""
    names = _names(equation)
    known = {n: v for n in names if (v := field(n)) is not None}
    terms = {
        text: np.broadcast_to(v, whole.shape).ravel()
        for text, v in _library(equation, known).items()
    }
    present = _formula(equation, name, fields)
    groups = [(text,) for text in terms] + sorted(
        itertools.combinations(terms, 2), key=lambda pair: -sum(text in present for text in pair)
    )
    for group in groups:
        columns = np.stack([terms[text] for text in group], -1)
        more, *_ = np.linalg.lstsq(columns, -whole.ravel(), rcond=None)
        if not small(whole.ravel() + columns @ more):
            continue
        added = dict(zip(group, more, strict=True))
        had = {text: present[text] for text in group if text in present}
        if not had:
            return f"with {_written(added)} added it would vanish; is that missing?"
        wanted = {text: present.get(text, 0.0) + value for text, value in added.items()}
        wanted = {t: value for t, value in wanted.items() if abs(value) > 0.01 * abs(added[t])}
        if not wanted:
            return f"without {_written(had)} it would vanish; one of `residual` and the solver has it too much."
        return f"with {_written(wanted)} in place of {_written(had)} it would vanish; is that what is meant?"
    return ""


def _names(equation: Equation) -> list[str]:
    """Fields that equations often have."""
    coordinates = equation.domain.names
    names = ["u", *equation.unknowns, *sorted(coordinates, key="t".__eq__)]
    for s in equation.unknowns:
        names += [f"{s}_{c * order}" for order in (1, 2, 3, 4) for c in coordinates]
    return names


def _library(equation: Equation, known: Mapping[str, np.ndarray]) -> Terms:
    """Terms that equations often have, of these fields."""
    space = [n for n in equation.domain.names if n != "t"]
    terms: Terms = {"1": np.ones(()), **known}
    for s in (s for s in equation.unknowns if s in known):
        terms |= {f"{s}²": known[s] ** 2, f"{s}³": known[s] ** 3}
        for a, b in itertools.product(
            ("u", *equation.unknowns),
            (s, *(f"{s}_{c}" for c in space), *(f"{s}_{c}{c}" for c in space)),
        ):
            if a != b and a in known and b in known and f"{b} {a}" not in terms:
                terms[f"{a} {b}"] = known[a] * known[b]
    return terms


def _formula(equation: Equation, name: str, fields: Fields) -> dict[str, float]:
    """The factors of these terms in `residual`, if it is made of nothing else: found by its values at random fields."""
    rng = np.random.default_rng(0)
    known = {f: rng.normal(size=400) for f in fields}
    try:
        values = np.asarray(parts(equation.residual(**known))[name], float)
        terms = {t: np.broadcast_to(v, 400) for t, v in _library(equation, known).items()}
        columns = np.stack(list(terms.values()), -1)
        factors, *_ = np.linalg.lstsq(columns, values, rcond=None)
    except Exception:  # it needs arrays of the shapes of a batch, say
        return {}
    if np.abs(columns @ factors - values).max() > 1e-8 * np.abs(values).max():
        return {}
    largest = np.abs(factors).max()
    return {t: float(c) for t, c in zip(terms, factors, strict=True) if abs(c) > 1e-9 * largest}


def _written(terms: Mapping[str, float]) -> str:
    """`−3 s + 3 s²`."""
    text = ""
    for term, factor in terms.items():
        size = _digits(abs(factor))
        if term != "1":
            size = term if size == "1" else f"{size} {term}"
        sign = "−" if factor < 0 else "+"
        text += f" {sign} {size}" if text else f"{sign}{size}"
    return text.removeprefix("+")


def _digits(number: float) -> str:
    """Three digits, or as many as tell it from one."""
    for digits in (3, 4, 5):
        if float(f"{number:.{digits}g}") != 1 or abs(number - 1) < 1e-6:
            return f"{number:.{digits}g}"
    return f"{number:.6g}"
