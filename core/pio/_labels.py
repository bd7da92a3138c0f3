"""Labels: a user's measurements of the solution, which may be one more term of the loss."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from pio._domain import Coordinate
from pio._equation import Equation
from pio._errors import PioError, suggestion
from pio._measured import measured
from pio._solve import _numbers

LAYOUTS = """{s} has one of these shapes:
  (functions, {counts}), on a grid, with one array for each of {names};
  (functions, points), with {names} of the same shape, or of shape (points,);
  (points,), with {names} of the same shape and `function`, the row of u that each point belongs to."""


class Labels(NamedTuple):
    """Functions u on their sensors, and points at which solutions were measured.

    Point i belongs to the function `u[function[i]]`; `values` holds each unknown that was measured.
    """

    u: Float[np.ndarray, "f sensors"]
    function: Int[np.ndarray, " n"]
    points: Mapping[str, Float[np.ndarray, " n"]]
    values: Mapping[str, Float[np.ndarray, " n"]]


def read_labels(equation: Equation, path: str | PathLike[str], sha256: str | None = None) -> Labels:
    """Labels from an `.npz` file, which must not have changed if its digest is given."""
    data = _bytes(path)
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise PioError(
            f"{fspath(path)} has changed since the run was made, which has trained on what was there "
            "before; put that file back, or begin a new run with --data."
        )
    try:
        if not zipfile.is_zipfile(io.BytesIO(data)):
            raise ValueError("it is of another kind")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError, OSError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise PioError(
            f"{fspath(path)} is no .npz file of arrays, such as numpy.savez writes: {error}."
        ) from error
    try:
        return labels(equation, arrays)
    except PioError as error:
        raise PioError(f"{fspath(path)} cannot be trained on: {error}") from error


def digest(path: str | PathLike[str]) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(_bytes(path)).hexdigest()


def _bytes(path: str | PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise PioError(
            f"cannot read measurements from {fspath(path)}: {error.strerror or error}."
        ) from error


def labels(equation: Equation, arrays: Mapping[str, Any]) -> Labels:
    """Labels from arrays by name: `u`, each coordinate, and one unknown or more.

    u has a row per function, on the equation's sensors, or at `places` if these are given (see
    `pio.measured`). Solutions are measured on a grid, at points of each function, or at scattered points:

        labels(equation, {"u": u, "x": x, "t": t, "s": s})      # (f, n), (x,), (t,), (f, x, t)
        labels(equation, {"u": u, "x": x, "t": t, "s": s})      # (f, n), and all others (f, p)
        labels(equation, {"u": u, "x": x, "t": t, "s": s, "function": which})   # all others (p,)
    """
    names, unknowns = equation.domain.names, equation.unknowns
    known = ("u", "places", "function", *names, *unknowns)
    for name in arrays:
        if name not in known:
            raise PioError(f"there is no use for an array {name!r}{suggestion(name, known)}")
    missing = [name for name in ("u", *names) if name not in arrays]
    if missing:
        raise PioError(f"there is no array {missing[0]!r}; give {', '.join(('u', *names))} and s.")
    found = [name for name in unknowns if name in arrays]
    if not found:
        raise PioError(f"nothing was measured; give an array {' or '.join(map(repr, unknowns))}.")
    u = measured(equation, arrays["u"], arrays.get("places"))
    points = {name: _numbers(arrays[name], name) for name in names}
    values = {name: _numbers(arrays[name], name) for name in found}
    shapes = {value.shape for value in values.values()}
    if len(shapes) > 1:
        raise PioError(f"{' and '.join(found)} have the same shape (got {shapes}).")
    which, points = _aligned(u, points, values[found[0]], arrays.get("function"))
    flat = {name: np.ravel(value) for name, value in values.items()}
    for name, value in {**points, **flat}.items():
        bad = ~np.isfinite(value)
        if bad.any():
            raise PioError(
                f"{name} has {bad.sum()} values that are not finite, the first at point {bad.argmax()}; "
                "leave out what was not measured, as scattered points."
            )
    inside = {name: _inside(equation.domain[name], value) for name, value in points.items()}
    return Labels(u, which, inside, flat)


def _aligned(
    u: np.ndarray, points: Mapping[str, np.ndarray], s: np.ndarray, function: Any
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The function and the coordinates of each value of s."""
    count, shapes = len(u), [p.shape for p in points.values()]
    if function is not None:
        which = _rows(function, count)
        if s.ndim != 1 or any(shape != s.shape for shape in [which.shape, *shapes]):
            raise _misfit(u, points, s, function)
        wide = points
    else:
        s = s[None] if s.ndim == 1 and count == 1 else s
        flat = all(len(shape) == 1 for shape in shapes)
        if flat and s.shape == (count, *(n for (n,) in shapes)):
            grid = np.meshgrid(*points.values(), indexing="ij")
            wide = dict(zip(points, (g[None] for g in grid), strict=True))
        elif s.ndim == 2 and len(s) == count and all(n in (s.shape, s.shape[1:]) for n in shapes):
            wide = dict(points)
        else:
            raise _misfit(u, points, s, function)
        which = np.arange(count).reshape(-1, *(1,) * (s.ndim - 1))
    if not 0 < s.size < 2**30:
        raise PioError(f"there are {s.size} measurements; give at least one, and fewer than 2³⁰.")
    spread = {name: np.ravel(np.broadcast_to(p, s.shape)) for name, p in wide.items()}
    return np.ravel(np.broadcast_to(which, s.shape)).astype(np.int32), spread


def _misfit(
    u: np.ndarray, points: Mapping[str, np.ndarray], s: np.ndarray, function: Any
) -> PioError:
    names = ", ".join(points)
    shapes = {"s": s.shape, **{name: p.shape for name, p in points.items()}}
    if function is not None:
        shapes["function"] = np.shape(function)
    got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    layouts = LAYOUTS.format(s="What was measured", counts=names, names=names)
    return PioError(f"shapes do not fit: {got}, for {len(u)} functions. {layouts}")


def _rows(function: Any, count: int) -> np.ndarray:
    rows = _numbers(function, "function")
    if not (np.isfinite(rows).all() and (rows == np.round(rows)).all()):
        raise PioError("`function` holds whole numbers, the row of u that each point belongs to.")
    if rows.size and not (rows.min() >= 0 and rows.max() < count):
        raise PioError(
            f"`function` counts the rows of u from 0 to {count - 1} (got {rows.min():g} to "
            f"{rows.max():g})."
        )
    return rows


def _inside(coordinate: Coordinate, values: np.ndarray) -> np.ndarray:
    slack = 1e-6 * coordinate.length  # what was kept in single precision may be off by rounding
    outside = (values < coordinate.low - slack) | (values > coordinate.high + slack)
    if outside.any():
        raise PioError(
            f"{coordinate.name} runs from {coordinate.low:g} to {coordinate.high:g}, but {outside.sum()} "
            f"of {values.size} points lie between {values.min():g} and {values.max():g}; leave out what "
            "lies outside."
        )
    return values.clip(coordinate.low, coordinate.high)
