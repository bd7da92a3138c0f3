"""Derivatives of a reference solution, by differences, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pio._domain import Coordinate
from pio._equation import Equation
from pio._fields import parse
from pio._space import read

Solve = Callable[[Mapping[str, np.ndarray]], Any]
"""Reference solutions at points, as `pio.solve` returns them."""


@dataclass(frozen=True, eq=False)
class Stencil:
    """Places along one coordinate, and the neighbours (by their distance) that each is differentiated with."""

    places: np.ndarray
    offsets: np.ndarray

    @property
    def nodes(self) -> np.ndarray:
        return np.asarray((self.places[:, None] + self.offsets).ravel())

    def weights(self, order: int) -> np.ndarray:
        """Weights of the neighbours in the derivative of that order."""
        count = len(self.offsets)
        scale = np.abs(self.offsets).max() or 1.0  # of one place alone, only the value is asked for
        powers = (self.offsets / scale)[None, :] ** np.arange(count)[:, None].astype(float)
        moments = np.zeros(count)
        moments[order] = math.factorial(order)
        return np.asarray(np.linalg.solve(powers, moments) / scale**order)


def inside(coordinate: Coordinate, step: float, places: int = 7) -> Stencil:
    """Places in the middle of a coordinate, with four neighbours on either side.

    They are `step` apart, as a share of its length, or as far as keeps them increasing.
    """
    share = 0.1 + 0.8 * np.arange(1, places + 1) / (places + 1)
    h = coordinate.length * min(step, 0.8 / (places + 1) / 9)
    return Stencil(coordinate.low + coordinate.length * share, h * np.arange(-4, 5))


def at_end(coordinate: Coordinate, value: float, step: float) -> Stencil:
    """One end of a coordinate, with six neighbours within the domain."""
    h = coordinate.length * step
    middle = (coordinate.low + coordinate.high) / 2
    offsets = h * np.arange(0, 7) if value < middle else h * np.arange(-6, 1)
    return Stencil(np.array([value]), offsets)


def fields(
    equation: Equation, u: np.ndarray, solve: Solve, stencils: Mapping[str, Stencil]
) -> Callable[[str], np.ndarray]:
    """A function from the name of a field to its values at the places of the stencils, aligned."""
    domain = equation.domain
    found = solve({n: stencils[n].nodes for n in domain.names})
    s = found if isinstance(found, Mapping) else {equation.unknowns[0]: found}

    def field(name: str) -> np.ndarray:
        base, index = parse(name, domain, (*equation.unknowns, "u"))
        if base in domain.names:
            return stencils[base].places.reshape([-1 if n == base else 1 for n in domain.axes])
        values = s[base] if base != "u" else _input(equation, u, stencils)
        for axis, (coordinate, order) in enumerate(zip(domain.names, index, strict=True), start=1):
            if values.shape[axis] > 1:
                stencil, shape = stencils[coordinate], values.shape
                lengths = len(stencil.places), len(stencil.offsets)
                values = values.reshape(*shape[:axis], *lengths, *shape[axis + 1 :])
                values = np.tensordot(values, stencil.weights(order), (axis + 1, 0))
            elif order:
                values = np.zeros_like(values)
        return values

    return field


def _input(equation: Equation, u: np.ndarray, stencils: Mapping[str, Stencil]) -> np.ndarray:
    """u on the same neighbours, of length one along coordinates it does not depend on."""
    names = equation.inputs.coordinates
    axes = [stencils[n].nodes for n in names]
    mesh = np.meshgrid(*axes, indexing="ij")
    values = read(equation.inputs, u, *(m.ravel() for m in mesh))
    shape = [len(axes[names.index(n)]) if n in names else 1 for n in equation.domain.names]
    return values.reshape(len(u), *shape)
