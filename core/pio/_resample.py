"""From the grid a solver works on to the points it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.interpolate import CubicSpline

from pio._domain import Domain
from pio._errors import PioError


def resample(
    s: np.ndarray,
    domain: Domain,
    grid: Sequence[np.ndarray],
    points: Mapping[str, np.ndarray],
) -> np.ndarray:
    """s, on a tensor grid aligned on the domain's axes, at other points.

    Points of the grid are copied; between them runs a cubic spline. `grid` lists the nodes of each
    coordinate, in the domain's order.
    """
    lengths = [len(nodes) for nodes in grid]
    if len(lengths) != len(domain.names) or list(np.shape(s)[1:]) != lengths:
        listed = ", ".join(f"{n} {k}" for n, k in zip(domain.names, lengths, strict=False))
        raise PioError(
            f"s has shape {np.shape(s)}, but the grid has {listed} (order of `Domain`); give s, and `grid`, one axis for "
            f"each of {', '.join(domain.axes)}: np.moveaxis brings them into order."
        )
    for axis, (name, nodes) in enumerate(zip(domain.names, grid, strict=True), start=1):
        wanted = np.asarray(points[name], float)
        nearest = np.abs(nodes[:, None] - wanted).argmin(0)
        if np.allclose(nodes[nearest], wanted, rtol=0.0, atol=1e-12 * domain[name].length):
            s = np.take(s, nearest, axis)
        else:
            s = CubicSpline(nodes, s, axis=axis)(wanted)
    return s
