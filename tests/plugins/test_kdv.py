"""KdV against its soliton, and its reference against a far finer one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio

MAKE = pio.discover().make
KDV = MAKE("equation", "kdv")


def soliton(x, t, c, delta):
    y = (x - np.pi - c * t + np.pi) % (2 * np.pi) - np.pi
    return 3 * c / np.cosh(np.sqrt(c) / (2 * delta) * y) ** 2


@pytest.mark.parametrize("c", [0.3, 1.0])
def test_a_soliton_keeps_its_shape(c):
    # Periodic images of the soliton are below 1e-7 of it; so are the modes that 257 sensors miss.
    equation = MAKE("equation", "kdv", {"modes": 120, "sensors": 257})
    u = soliton(equation.inputs.sensors, 0.0, c, equation.delta)
    x, t = equation.grid["x"][:, None], equation.grid["t"]
    found = pio.solve(equation, u)
    truth = soliton(x, t, c, equation.delta)[None]
    assert pio.relative_errors(found, truth).max() < 1e-5


def test_two_modes_against_a_high_resolution():
    equation = MAKE("equation", "kdv", {"modes": 2})
    x = equation.inputs.sensors
    u = np.stack([np.cos(x) + 0.7 * np.sin(2 * x), 2.5 * np.sin(x + 0.3)])
    once, finer = (pio.solve(equation, u, refine=r) for r in (1, 4))
    assert pio.relative_errors(once, finer).max() < 1e-5


def test_another_spectral_code_agrees_in_the_limit():
    """exponax drops imaginary parts of its weights, so dispersion is of first order: extrapolate."""
    exponax = pytest.importorskip("exponax")
    n = 256
    x = 2 * np.pi * np.arange(n) / n
    ends = []
    for steps in (1000, 2000):
        with jax.numpy_dtype_promotion("standard"):
            stepper = exponax.stepper.KortewegDeVries(
                1, 2 * np.pi, n, 1 / steps, convection_scale=1.0, dispersivity=KDV.delta**2,
                hyper_diffusivity=0.0, order=4,
            )  # fmt: skip
            ends.append(exponax.repeat(stepper, steps)(jnp.cos(jnp.asarray(x))[None]))
    found = pio.solve(KDV, np.cos(KDV.inputs.sensors), {"x": x, "t": [1.0]})[:, :, 0]
    assert np.abs(found - (2 * ends[1] - ends[0])).max() < 1e-4


def test_waves_from_the_tail_are_resolved():
    """An amplitude of 4 is exceeded by one u in three thousand."""
    u = 4 * np.sin(KDV.inputs.sensors)
    once, twice = (pio.solve(KDV, u, refine=r) for r in (1, 2))
    assert pio.relative_errors(once, twice).max() < 1e-4
