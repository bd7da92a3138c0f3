"""Burgers against Cole and Hopf, who solved it, and against another spectral code."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio

MAKE = pio.discover().make


def burgers(nu):
    return MAKE("equation", "burgers", {"nu": nu})


def cole_hopf(equation, u, x, t):
    """s = ∫ u(y) w(y) dy / ∫ w(y) dy, w = exp(−(x − y)²/4νt − U(y)/2ν), U' = u.

    All terms of ∫ w are positive, so no digits cancel, however small ν is.
    """
    nu = equation.nu
    y = np.linspace(-1.0, 2.0, 24_001)[:-1]
    values = pio.read(equation.inputs, u[None], y)[0]
    a, b = np.asarray(_pairs(equation, u)).reshape(-1, 2).T
    k = 2 * np.pi * np.arange(1, len(a) + 1)[:, None]
    antiderivative = (a[:, None] * np.sin(k * y) - b[:, None] * np.cos(k * y)) / k
    exponent = -((x[:, None] - y) ** 2) / (4 * nu * t) - antiderivative.sum(0) / (2 * nu)
    weight = np.exp(exponent - exponent.max(1, keepdims=True))
    return (weight * values).sum(1) / weight.sum(1)


def _pairs(equation, u):
    space = equation.inputs
    every = pio.PeriodicField(space.coordinate, space.count, space.deviations)
    return every.coefficients(jnp.asarray(u))


@pytest.mark.parametrize(("nu", "tolerance"), [(1e-2, 1e-8), (1e-3, 3e-5), (1e-4, 1e-4)])
def test_the_reference_is_the_solution_of_cole_and_hopf(nu, tolerance):
    equation = burgers(nu)
    u = pio.draw(equation.inputs, jax.random.key(7), 2)
    x, t = np.linspace(0, 1, 101), np.array([0.25, 0.6, 1.0])
    found = pio.solve(equation, u, {"x": x, "t": t})
    truth = np.array([np.stack([cole_hopf(equation, v, x, time) for time in t], 1) for v in u])
    assert pio.relative_errors(found, truth).max() < tolerance


def test_another_spectral_code_agrees():
    exponax = pytest.importorskip("exponax")
    equation = burgers(1e-2)
    u = pio.draw(equation.inputs, jax.random.key(0), 1)
    n, steps = 256, 1000
    start = jnp.asarray(pio.read(equation.inputs, u, np.arange(n) / n))
    with jax.numpy_dtype_promotion("standard"):
        stepper = exponax.stepper.Burgers(
            1, 1.0, n, 1 / steps, diffusivity=equation.nu, convection_scale=1.0, order=4
        )
        end = exponax.repeat(stepper, steps)(start)
    found = pio.solve(equation, u, {"x": np.arange(n) / n, "t": [1.0]})[:, :, 0]
    assert np.abs(found - end).max() < 1e-7


def test_a_refined_reference_changes_by_less_than_it_claims():
    equation = burgers(1e-4)
    u = pio.draw(equation.inputs, jax.random.key(3), 2)
    times = {"x": equation.grid["x"], "t": np.linspace(0, 1, 5)}
    once, twice = (pio.solve(equation, u, times, refine=r) for r in (1, 2))
    assert pio.relative_errors(once, twice).max() < 1e-4


@pytest.mark.parametrize(("nu", "harmonics"), [(1e-2, 4), (1e-3, 6), (1e-4, 8)])
def test_networks_see_more_harmonics_of_sharper_shocks(nu, harmonics):
    equation = burgers(nu)
    paper = equation.presets["paper"]
    assert paper.embedding == pio.Choice("fourier", {"order": harmonics})
    assert equation.inputs.coefficients(jnp.ones(101)).shape == (2 * harmonics,)


def test_a_large_u_of_ones_own_is_resolved():
    equation = burgers(1e-2)
    u = 3 * np.sin(2 * np.pi * equation.inputs.sensors)
    once, twice = (pio.solve(equation, u, refine=r) for r in (1, 2))
    assert pio.relative_errors(once, twice).max() < 1e-4
