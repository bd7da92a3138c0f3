"""The check that an ansatz demands no more than the conditions do."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from pio._batch import Batch
from pio._equation import Equation
from pio._fields import asked
from pio._solve import find_reference
from pio.testing._built import model
from pio.testing._check import Unfit, check, require
from pio.testing._reference import solved
from pio.testing._subject import Subject
from pio.testing._try import functions


@check("equation", after="makes fields sampling sensors ansatz reference")
def freedom(subject: Subject) -> None:
    """Where the ansatz leaves the network no say, it is the solution."""
    equation = subject.product
    if not hasattr(equation, "ansatz"):
        raise Unfit("the equation has no ansatz, and trains with conditions in the loss")
    some = {n: np.linspace(0, len(p) - 1, 9).round().astype(int) for n, p in equation.grid.items()}
    grid = {n: np.asarray(p)[some[n]] for n, p in equation.grid.items()}
    values, slopes = _form(subject, grid)
    rows = np.arange(len(functions(equation)))
    for unknown, whole in solved(subject).items():
        s = whole[np.ix_(rows, *(some[n] for n in equation.domain.names))]
        slope = slopes[unknown]
        fixed = slope <= 1e-12 * max(1.0, float(slope.max()))
        away = np.where(fixed, np.abs(values[unknown] - s), 0.0)
        scale = max(1.0, float(np.abs(s).max()))
        tolerance = scale * max(1e-4, 10 * find_reference(equation).accuracy)
        where, coordinates = _where(equation, grid, away, tolerance)
        require(
            away.max() <= tolerance,
            f"at {where} the ansatz of {subject.noun} gives the same {unknown} whatever n is, but the reference is "
            f"{away.max():.2g} away: it leaves the network no say there.",
            _mend(equation, unknown, coordinates),
        )


def _form(
    subject: Subject, grid: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The ansatz of n = 0 at points, and how much it changes with n (of every output, at two values of them)."""
    equation, m = subject.product, model(subject)
    u = jnp.asarray(functions(equation))
    batch = Batch.block(u, **{n: jnp.asarray(p) for n, p in grid.items()})
    point = batch.points
    known = {**point, **m.consult(u)(point, m.consults)}
    count = len(equation.unknowns)

    def form(*n: jax.Array) -> tuple[jax.Array, ...]:
        return m.constrain(n, known)

    values: dict[str, np.ndarray] = {}
    slopes = {name: np.zeros(batch.shape) for name in equation.unknowns}
    for size in (1.0, 0.0):
        n = (jnp.full(batch.shape, size),) * count
        for k in range(count):
            along = tuple(jnp.full(batch.shape, float(j == k)) for j in range(count))
            found, changes = jax.jvp(form, n, along)
            for name, s, change in zip(equation.unknowns, found, changes, strict=True):
                values[name] = np.broadcast_to(np.asarray(s), batch.shape)
                slopes[name] = slopes[name] + np.abs(np.asarray(change))
    return values, slopes


def _where(
    equation: Equation, grid: Mapping[str, np.ndarray], away: np.ndarray, tolerance: float
) -> tuple[str, dict[str, float]]:
    """What the points that are too far away have in common: one coordinate, or else the worst of them."""
    axes = np.nonzero(away > tolerance)[1:]
    worst = np.unravel_index(away.argmax(), away.shape)[1:]
    all_of_them = {
        name: float(grid[name][k]) for name, k in zip(equation.domain.names, worst, strict=True)
    }
    shared = {
        name: all_of_them[name]
        for name, axis in zip(equation.domain.names, axes, strict=True)
        if len(axis) and (axis == axis[0]).all()
    }
    # Both ends of a coordinate are often fixed: the worst of them will do.
    for name, axis in zip(equation.domain.names, axes, strict=True):
        c = equation.domain[name]
        if not shared and set(grid[name][axis]) <= {c.low, c.high}:
            shared[name] = all_of_them[name]
    found = shared or all_of_them
    return ", ".join(f"{name} = {value:g}" for name, value in found.items()), found


def _mend(equation: Equation, unknown: str, where: dict[str, float]) -> str:
    for condition in equation.conditions():
        slopes = [n for n in asked(condition.residual) if n.startswith(f"{unknown}_")]
        if (
            slopes
            and condition.versus is None
            and all(where.get(name) == value for name, value in condition.at.items())
        ):
            return (
                f"for a condition on {slopes[0]}, leave the ansatz out, or use an embedding that is flat there: a factor "
                f"that vanishes fixes {unknown} itself."
            )
    return (
        "let the factor before n vanish only where conditions say what s is, and the rest be that: t at t = 0, "
        "x (1 − x) where s is given at both ends."
    )
