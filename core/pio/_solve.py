"""Reference solutions of any number of functions, and the check of what is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pio._equation import Equation, Reference
from pio._errors import PioError, suggestion

Progress = Callable[[int, int], None]


def solve(
    equation: Equation,
    u: Any,
    points: Mapping[str, Any] | None = None,
    *,
    reference: str | None = None,
    refine: int = 1,
    progress: Progress | None = None,
) -> Any:
    """The reference solution for each u, `(functions, sensors)`, aligned on the domain's axes.

    It is given on the equation's grid unless `points` says otherwise, and computed by the truest
    reference unless one is named. Chunks of functions run in as many threads as there are cores;
    `progress(done, total)` is called after each.

        s = pio.solve(equation, u)                                # (f, x, t)
        s = pio.solve(equation, u, {"x": x, "t": [0.5, 1.0]}, reference="box")
    """
    solver = find_reference(equation, reference)
    u = check_inputs(equation, u)
    points = check_points(equation, equation.grid if points is None else points)
    chunks = [u[i : i + solver.chunk] for i in range(0, len(u), solver.chunk)]
    solved: list[Any] = []
    done = 0
    with ThreadPoolExecutor(_cores()) as threads:
        try:
            for s in threads.map(lambda chunk: solver.solve(chunk, points, refine), chunks):
                done += len(chunks[len(solved)])
                solved.append(s)
                if progress is not None:
                    progress(done, len(u))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    if isinstance(solved[0], Mapping):
        return {name: np.concatenate([s[name] for s in solved]) for name in solved[0]}
    return np.concatenate(solved)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def find_reference(equation: Equation, name: str | None = None) -> Reference:
    """The reference of that name, or the truest."""
    known = equation.references
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise PioError(f"no reference named {name!r}{suggestion(name, known)}")
    return known[name]


def check_inputs(equation: Equation, u: Any) -> np.ndarray:
    """u as `(functions, sensors)` in float64, or an error that says what is wrong with it."""
    values = _numbers(u, "u")
    values = values[None] if values.ndim == 1 else values
    sensors = len(equation.inputs.sensors)
    if values.ndim != 2 or values.shape[1] != sensors or not len(values):
        raise PioError(
            f"u is known at {sensors} sensors, so give an array of {sensors} numbers, or one such "
            f"row per function (got shape {np.shape(u)}). Values at other places can be given with "
            "those places: --places FILE, or pio.measured(equation, values, places)."
        )
    bad = ~np.isfinite(values).all(1)
    if bad.any():
        raise PioError(
            f"u has values that are not finite (function {bad.argmax()}, the first of "
            f"{bad.sum()}); remove or replace them."
        )
    if hasattr(equation, "admit"):
        equation.admit(values)
    return values


def check_range(u: Any, precision: int) -> None:
    """Refuse what the numbers of a model, of so many bits, cannot hold: all that follows would not be finite."""
    largest = float(np.abs(_numbers(u, "u")).max(initial=0.0))
    bound = float(np.finfo(f"float{precision}").max)
    if bound < largest < np.inf:
        raise PioError(
            f"u has values of size {largest:.3g}, but the numbers of this model reach {bound:.1g}; give u "
            "in the units of the equation."
        )


def check_points(equation: Equation, points: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """One increasing array per coordinate, inside the domain."""
    domain = equation.domain
    if set(points) != set(domain.names):
        raise PioError(
            f"give points for each of {', '.join(domain.names)} (got {', '.join(points) or 'none'})."
        )
    checked = {}
    for name in domain.names:
        values, c = np.atleast_1d(_numbers(points[name], name)), domain[name]
        slack = 1e-9 * c.length
        if values.ndim > 1 or not values.size or not (np.diff(values) > 0).all():
            raise PioError(f"the points of {name} are one increasing array (got {points[name]!r}).")
        if not (values.min() >= c.low - slack and values.max() <= c.high + slack):
            raise PioError(
                f"{name} runs from {c.low:g} to {c.high:g}, but points were asked for between "
                f"{values.min():g} and {values.max():g}; stay inside."
            )
        checked[name] = values.clip(c.low, c.high)
    return checked


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        if np.iscomplexobj(values):  # NumPy would drop the imaginary part
            raise TypeError
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise PioError(f"{what} is an array of real numbers (got {values!r}).") from None
