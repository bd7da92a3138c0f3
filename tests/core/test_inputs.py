"""A u of the user's own is taken to the sensors, or refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio

REGISTRY = pio.discover()
ADVECTION = REGISTRY.make("equation", "advection")
BURGERS = REGISTRY.make("equation", "burgers")
KDV = REGISTRY.make("equation", "kdv")


def wave(x):
    return np.sin(2 * np.pi * np.asarray(x))


def test_values_on_the_sensors_are_taken_as_they_are():
    u = wave(BURGERS.inputs.sensors)
    np.testing.assert_array_equal(pio.measured(BURGERS, u), u[None])
    np.testing.assert_array_equal(pio.measured(BURGERS, [u, u]), [u, u])


@pytest.mark.parametrize(
    "places", [np.linspace(0, 1, 41), np.linspace(0, 1, 40, endpoint=False) + 0.01]
)
def test_values_elsewhere_are_carried_to_the_sensors_around_the_circle(places):
    u = pio.measured(BURGERS, wave(places), places)
    np.testing.assert_allclose(u[0], wave(BURGERS.inputs.sensors), atol=1e-5)


def test_values_elsewhere_in_any_order_along_an_interval():
    places = np.random.default_rng(0).permutation(np.linspace(0.01, 1, 60) ** 1.2)
    u = pio.measured(ADVECTION, [2 + places**2, 3 - places], places)
    x = ADVECTION.inputs.sensors
    np.testing.assert_allclose(u, [2 + x**2, 3 - x], atol=1e-9)


X101, NAN = np.linspace(0, 1, 101), np.full(101, np.nan)


@pytest.mark.parametrize(
    ("equation", "arguments", "message"),
    [
        (BURGERS, (np.ones(100),), "101 sensors.*got shape \\(100,\\)"),
        (BURGERS, (np.ones((2, 3, 101)),), "got shape \\(2, 3, 101\\)"),
        (BURGERS, (np.ones((0, 101)),), "got shape \\(0, 101\\)"),
        (BURGERS, (NAN,), "not finite"),
        (BURGERS, ("hello",), "array of real numbers"),
        (BURGERS, ([1, 2, 3], [0.1, 0.2]), "3 values and 2 places"),
        (BURGERS, (np.ones(8), np.linspace(0, 1.5, 8)), "x runs from 0 to 1.*between 0 and 1.5"),
        (BURGERS, (np.ones(4), [0.1, 0.2, 0.2, 0.3]), "measured twice"),
        (BURGERS, ([1.0, np.inf], [0.1, 0.2]), "not finite"),
        (BURGERS, (X101, X101), "u differs by 1 between x = 0 and x = 1"),
        (BURGERS, (X101,), "not one of the functions"),
        (KDV, (np.sin(2 * KDV.inputs.sensors),), "not one of the functions"),
        (ADVECTION, (X101 - 0.5,), "u > 0 everywhere, but function 0 falls to -0.5"),
        (ADVECTION, (np.ones(9), np.linspace(0.2, 0.8, 9)), "measure up to the ends"),
    ],
)
def test_a_wrong_u_gets_one_clear_message(equation, arguments, message):
    with pytest.raises(pio.PioError, match=message):
        pio.measured(equation, *arguments)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"x": [0.5, 1.5], "t": [1.0]}, "x runs from 0 to 1.*between 0.5 and 1.5"),
        ({"x": [0.5], "t": [-0.1]}, "t runs from 0 to 1"),
        ({"x": [0.5, 0.2], "t": [1.0]}, "one increasing array"),
        ({"x": [np.nan], "t": [1.0]}, "x runs from 0 to 1"),
        ({"x": [0.5]}, "points for each of x, t"),
    ],
)
def test_points_outside_the_domain_are_refused(points, message):
    with pytest.raises(pio.PioError, match=message):
        pio.solve(BURGERS, wave(BURGERS.inputs.sensors), points)


def test_an_unknown_reference_is_refused():
    with pytest.raises(pio.PioError, match="no reference named 'boxx'; did you mean 'box'"):
        pio.solve(ADVECTION, np.ones(101), reference="boxx")


@dataclass(frozen=True)
class Planes:
    """u = a + b x + c y, known at five places; log u, if it is to be positive."""

    positive: bool = False
    coordinates: ClassVar[Any] = ("x", "y")
    sensors: ClassVar[Any] = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]], float)

    def sample(self, key, n):
        return 2 + jax.random.uniform(key, (n, 3)) @ jnp.asarray(self._basis(*self.sensors.T))

    def at(self, u, x, y):
        coefficients = (jnp.log(u) if self.positive else u) @ jnp.asarray(
            np.linalg.pinv(self._basis(*self.sensors.T)), u.dtype
        )
        plane = coefficients[..., 0] + coefficients[..., 1] * x + coefficients[..., 2] * y
        return jnp.exp(plane) if self.positive else plane

    def _basis(self, x, y):
        return np.stack([np.ones_like(x), x, y])


class Board:
    """s_t = u(x, y), of which only the inputs are asked for here."""

    domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("y"), pio.Coordinate("t"))
    unknowns = ("s",)
    grid: ClassVar[Any] = {name: np.linspace(0, 1, 3) for name in "xyt"}
    references: ClassVar[Any] = {}

    def __init__(self, positive=False):
        self.inputs = Planes(positive)

    def residual(self, s_t, u):
        return s_t - u

    def conditions(self):
        return ()


def test_functions_of_two_coordinates_have_to_be_of_the_space_too():
    x, y = Planes.sensors.T
    np.testing.assert_allclose(pio.measured(Board(), 1 + x - 2 * y), [1 + x - 2 * y])
    with pytest.raises(pio.PioError, match=r"off by \d+% at a sensor \(function 1\)"):
        pio.measured(Board(), [1 + x, (x - 0.5) * (y - 0.5)])
    with pytest.raises(pio.PioError, match="on the 5 sensors"):
        pio.measured(Board(), [1.0, 2.0], places=[0.0, 1.0])


def test_functions_that_cannot_be_read_are_named():
    x, y = Planes.sensors.T
    with pytest.raises(pio.PioError, match="function 1: read between the sensors, u is not a num"):
        pio.measured(Board(positive=True), [np.exp(x), -np.exp(y)])


def test_values_that_are_not_on_the_sensors_are_asked_to_come_with_places():
    with pytest.raises(
        pio.PioError, match=r"--places FILE, or pio\.measured\(equation, values, places"
    ):
        pio.measured(BURGERS, [0.0, 1.0])
