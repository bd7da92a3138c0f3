"""Solutions go from the grid of a solver to the points asked for, along axes in the order of the domain."""

from __future__ import annotations

import numpy as np
import pytest

import pio

DOMAIN = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))
X, T = np.linspace(0, 1, 33), np.linspace(0, 1, 9)


def test_a_smooth_solution_is_read_between_the_nodes():
    s = np.sin(X)[None, :, None] * T
    points = {"x": np.array([0.1, 0.5]), "t": T[::2]}
    found = pio.resample(s, DOMAIN, (X, T), points)
    np.testing.assert_allclose(found[0], np.sin(points["x"])[:, None] * points["t"], atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 9, 33), (3, 33), (33, 9)])
def test_axes_in_another_order_are_refused(shape):
    message = r"but the grid has x 33, t 9 \(order of `Domain`\)"
    with pytest.raises(pio.PioError, match=message):
        pio.resample(np.zeros(shape), DOMAIN, (X, T), {"x": X, "t": T})
