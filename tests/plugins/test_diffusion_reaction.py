"""Diffusion–reaction against finer grids, and against solutions in closed form."""

from __future__ import annotations

import jax
import numpy as np

import pio

MAKE = pio.discover().make
EQUATION = MAKE("equation", "diffusion-reaction")


def test_the_published_grid_against_one_four_times_finer():
    u = pio.draw(EQUATION.inputs, jax.random.key(0), 100)
    coarse, fine = (pio.solve(EQUATION, u, reference="published", refine=r) for r in (1, 4))
    assert pio.relative_errors(coarse, fine).mean() < 3e-4


def test_the_truth_against_itself_refined():
    u = pio.draw(EQUATION.inputs, jax.random.key(0), 8)
    assert (
        pio.relative_errors(pio.solve(EQUATION, u), pio.solve(EQUATION, u, refine=2)).max() < 3e-5
    )


def test_without_reaction_a_sine_grows_to_its_balance():
    # s_t = D s_xx + sin πx is solved by sin πx (1 − exp(−π²Dt)) / (π²D).
    linear = MAKE("equation", "diffusion-reaction", {"reaction": 0.0})
    x, t = linear.grid["x"][:, None], linear.grid["t"]
    rate = np.pi**2 * linear.diffusion
    truth = np.sin(np.pi * x) * -np.expm1(-rate * t) / rate
    found = pio.solve(linear, np.sin(np.pi * linear.inputs.sensors))[0]
    np.testing.assert_allclose(found, truth, atol=1e-6)


def test_reaction_against_an_ordinary_differential_equation():
    # Far from the ends and early on, a constant source gives s' = k s² + 1: s = tan(√k t) / √k.
    strong = MAKE("equation", "diffusion-reaction", {"reaction": 1.0, "diffusion": 1e-4})
    t = strong.grid["t"]
    found = pio.solve(strong, np.ones(101), {"x": [0.5], "t": t})[0, 0]
    np.testing.assert_allclose(found, np.tan(t), rtol=1e-5, atol=1e-12)
