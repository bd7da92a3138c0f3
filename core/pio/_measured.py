"""A user's own u: values at the sensors, or wherever they were measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from pio._equation import Equation
from pio._errors import PioError
from pio._solve import _numbers, check_inputs
from pio._space import read

# How much of a function may be lost between what was measured and what is read: noise, not shape.
LOSS = 0.05


def measured(equation: Equation, values: Any, places: Any = None) -> np.ndarray:
    """u on the equation's sensors, `(functions, sensors)`, from what was measured.

    Without `places`, values lie on the sensors. With them, one per value, a spline of fifth degree
    (lower for fewer than six places) carries values to the sensors; it is periodic where u is.

        u = pio.measured(equation, [0.1, 0.4, …], places=[0.0, 0.013, …])
    """
    if places is not None:
        values = _to_sensors(equation, values, places)
    u = check_inputs(equation, values)
    _check_readable(equation, u)
    return u


def _to_sensors(equation: Equation, values: Any, places: Any) -> np.ndarray:
    space = equation.inputs
    if len(space.coordinates) != 1:
        raise PioError(
            f"u depends on {', '.join(space.coordinates)}, and values at other places than the sensors are "
            f"taken for functions of one coordinate only; give its values on the {len(space.sensors)} sensors, in "
            "the order of `inputs.sensors`."
        )
    name = space.coordinates[0]
    coordinate = equation.domain[name]
    values, places = np.atleast_2d(_numbers(values, "u")), _numbers(places, name)
    if places.ndim != 1 or values.shape[-1] != places.size or places.size < 2:
        raise PioError(
            f"u needs one value per place, at two places or more (got {values.shape[-1]} values "
            f"and {places.size} places)."
        )
    if not (np.isfinite(values).all() and np.isfinite(places).all()):
        raise PioError("u or its places have values that are not finite; leave those out.")
    order = places.argsort()
    places, values = places[order], values[:, order]
    slack = 1e-9 * coordinate.length
    if places[0] < coordinate.low - slack or places[-1] > coordinate.high + slack:
        raise PioError(
            f"{name} runs from {coordinate.low:g} to {coordinate.high:g}, but u was measured "
            f"between {places[0]:g} and {places[-1]:g}; leave out what lies outside."
        )
    if (np.diff(places) <= 0).any():
        raise PioError("u was measured twice at one place; keep one value there.")
    if coordinate.periodic:
        return _around(name, coordinate.length, places, values, space.sensors)
    return _along(name, places, values, space.sensors)


def _around(
    name: str, length: float, places: np.ndarray, values: np.ndarray, sensors: np.ndarray
) -> np.ndarray:
    """A spline around a circle."""
    if places[-1] - places[0] < (1 - 1e-9) * length:
        places = np.append(places, places[0] + length)
        values = np.concatenate([values, values[:, :1]], 1)
    jump = np.abs(values[:, -1] - values[:, 0]).max()
    if jump > LOSS * np.abs(values).max():
        raise PioError(
            f"{name} is periodic, but u differs by {jump:.3g} between {name} = {places[0]:g} and "
            f"{name} = {places[-1]:g}, which are one place; give a periodic u."
        )
    values = np.concatenate([values[:, :-1], values[:, :1]], 1)
    degree = 5 if places.size > 6 else 3
    spline = make_interp_spline(places, values, degree, axis=1, bc_type="periodic")
    return np.asarray(spline(places[0] + (sensors - places[0]) % length))


def _along(name: str, places: np.ndarray, values: np.ndarray, sensors: np.ndarray) -> np.ndarray:
    """A spline along an interval. It may reach past the last place by one gap, not further."""
    gap = max(places[0] - sensors.min(), sensors.max() - places[-1])
    if gap > np.diff(places).max():
        raise PioError(
            f"u was measured between {name} = {places[0]:g} and {places[-1]:g}, but is needed from "
            f"{sensors.min():g} to {sensors.max():g}; measure up to the ends."
        )
    degree = {2: 1, 3: 1, 4: 3, 5: 3}.get(places.size, 5)
    return np.asarray(make_interp_spline(places, values, degree, axis=1)(sensors))


def _check_readable(equation: Equation, u: np.ndarray) -> None:
    """Refuse a u that the space cannot represent: what is solved would not be what was given."""
    space = equation.inputs
    places = np.asarray(space.sensors, float).reshape(len(space.sensors), -1)
    misfit = np.abs(read(space, u, *places.T) - u).max(1)
    if not np.isfinite(misfit).all():
        raise PioError(
            f"function {int((~np.isfinite(misfit)).argmax())}: read between the sensors, u is not a number. The "
            "functions of this equation may have to be positive, say; `pio describe equation` shows its space."
        )
    scale = np.abs(u).max(1)
    worst = int((misfit - LOSS * scale).argmax())
    if misfit[worst] > LOSS * scale[worst]:
        raise PioError(
            f"u is not one of the functions of this equation: between the sensors it is read as a "
            f"function that is off by {misfit[worst] / scale[worst]:.0%} at a sensor (function "
            f"{worst}). It may be too rough, or not periodic; smooth it, or change the options of "
            "the equation."
        )
