"""Function spaces draw what theory says, and read what they drew."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio

X = pio.Coordinate("x")
CIRCLE = pio.Coordinate("x", 0.0, 1.0, periodic=True)
LAW = pio.power_law(49, scale=625.0, tau=5.0, gamma=4.0)
SPACES = {
    "gaussian": pio.GaussianField(X, 101, 0.2),
    "lifted": pio.Lifted(pio.GaussianField(X, 101, 0.2)),
    "power law": pio.PeriodicField(CIRCLE, 101, LAW, modes=4),
    "trigonometric": pio.PeriodicField(
        pio.Coordinate("x", 0.0, 2 * np.pi, periodic=True), 129, (1.0,)
    ),
}


@pytest.fixture(params=SPACES)
def space(request):
    return SPACES[request.param]


def derivatives(space, u, x, order):
    """u, u', … at x by nested forward mode."""
    functions = [lambda x: space.at(u[:, None, :], x[None, :])]
    for _ in range(order):
        f = functions[-1]
        functions.append(lambda x, f=f: jax.jvp(f, (x,), (jnp.ones_like(x),))[1])
    return [np.asarray(v) for v in jax.jit(lambda x: [f(x) for f in functions])(x)]


def test_a_space_meets_the_protocol(space):
    assert isinstance(space, pio.FunctionSpace)


def test_sampling_is_a_pure_function_of_the_key(space):
    key = jax.random.key(3)
    u = space.sample(key, 5)
    assert u.shape == (5, len(space.sensors))
    np.testing.assert_array_equal(u, space.sample(key, 5))
    np.testing.assert_allclose(u, jax.jit(space.sample, static_argnums=1)(key, 5), atol=1e-12)
    assert np.abs(u - space.sample(jax.random.key(4), 5)).max() > 0.01


def test_reading_at_the_sensors_gives_the_sensors(space):
    u = pio.draw(space, jax.random.key(0), 20)
    np.testing.assert_allclose(pio.read(space, u, space.sensors), u, atol=1e-7)


def test_functions_are_aligned_with_points_of_their_own_or_shared(space):
    u = space.sample(jax.random.key(0), 3)[:, None, None, :]
    shared = space.at(u, jnp.linspace(0.1, 0.9, 4)[None, :, None])
    own = space.at(u, jnp.tile(jnp.linspace(0.1, 0.9, 4)[None, :, None], (3, 1, 2)))
    assert (shared.shape, own.shape) == ((3, 4, 1), (3, 4, 2))
    np.testing.assert_allclose(own, jnp.tile(shared, (1, 1, 2)), atol=1e-12)


def test_single_precision_stays_single_and_close(space):
    x = np.linspace(space.sensors[0], space.sensors[-1], 57)
    u = pio.draw(space, jax.random.key(0), 4)
    exact = derivatives(space, jnp.asarray(u), jnp.asarray(x), 2)
    with jax.enable_x64(False):
        assert space.sample(jax.random.key(0), 2).dtype == np.float32
        found = derivatives(space, jnp.asarray(u, jnp.float32), jnp.asarray(x, jnp.float32), 2)
    for order, (a, b) in enumerate(zip(found, exact, strict=True)):
        assert a.dtype == np.float32
        assert np.abs(a - b).max() < 10.0 ** (order - 5) * np.abs(b).max()


def test_double_precision_does_not_depend_on_the_flag(space):
    u, x = pio.draw(space, jax.random.key(0), 4), np.array([0.123, 0.5])
    with jax.enable_x64(False):
        np.testing.assert_array_equal(pio.draw(space, jax.random.key(0), 4), u)
        assert pio.read(space, u, x).dtype == np.float64


def covariance(space, lags, n=20_000):
    """Of u at 0.3 and at 0.3 plus the lags, with its sampling error."""
    u = pio.draw(space, jax.random.key(1), n)
    values = pio.read(space, u, np.array([0.3, *(0.3 + lags)]))
    products = values[:, :1] * values[:, 1:]
    return products.mean(0), products.std(0) / np.sqrt(n)


LAGS = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.5])


def test_a_gaussian_field_has_its_kernel_as_covariance():
    found, error = covariance(SPACES["gaussian"], LAGS)
    assert (np.abs(found - np.exp(-0.5 * (LAGS / 0.2) ** 2)) < 4.5 * error).all()


def test_a_power_law_field_has_the_covariance_of_its_operator():
    # c(r) = Σ_k 2 σ² ((2πk)² + τ²)^−γ cos 2πkr, of which the sensors see all but a millionth.
    k = np.arange(1, 2049)[:, None]
    theory = (
        2 * 625.0**2 * ((2 * np.pi * k) ** 2 + 25.0) ** -4 * np.cos(2 * np.pi * k * LAGS)
    ).sum(0)
    found, error = covariance(SPACES["power law"], LAGS)
    assert (np.abs(found - theory) < 4.5 * error).all()
    np.testing.assert_allclose(LAW[:4], [0.2126, 0.0264, 0.0061, 0.0021], rtol=0.03)


def test_a_trigonometric_field_has_normal_coefficients():
    space = SPACES["trigonometric"]
    pairs = space.coefficients(space.sample(jax.random.key(0), 20_000))
    np.testing.assert_allclose(np.cov(np.asarray(pairs).T), np.eye(2), atol=0.04)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_smooth_functions_are_read_with_their_derivatives(k):
    space, x = SPACES["gaussian"], jnp.linspace(0.0, 1.0, 41)
    u, du, ddu = derivatives(space, jnp.sin(k * jnp.asarray(space.sensors))[None], x, 2)
    np.testing.assert_allclose(u[0], jnp.sin(k * x), atol=1e-10)
    np.testing.assert_allclose(du[0], k * jnp.cos(k * x), atol=1e-9)
    np.testing.assert_allclose(ddu[0], -(k**2) * jnp.sin(k * x), atol=1e-6)


def test_coefficients_are_those_of_the_series():
    space = SPACES["power law"]
    x = jnp.asarray(space.sensors)
    u = 0.5 + jnp.cos(2 * jnp.pi * x) - 2 * jnp.sin(6 * jnp.pi * x)
    np.testing.assert_allclose(space.coefficients(u), [1, 0, 0, 0, 0, -2, 0, 0], atol=1e-12)
    assert abs(pio.read(space, u[None], [0.0])[0, 0] - 1.5) < 1e-12


def test_a_lifted_function_touches_its_floor():
    space = SPACES["lifted"]
    u = pio.draw(space, jax.random.key(0), 50)
    lowest = pio.read(space, u, np.linspace(0, 1, 512)).min(1)
    np.testing.assert_allclose(lowest, 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pio.GaussianField(X, 101, -0.2), "positive length scale"),
        (lambda: pio.GaussianField(X, 11, 0.05), "11 sensors do not resolve"),
        (lambda: pio.PeriodicField(X, 101, (1.0,)), "is periodic"),
        (lambda: pio.PeriodicField(CIRCLE, 9, (1.0,) * 4), "tell apart modes 1 to 3"),
        (lambda: pio.PeriodicField(CIRCLE, 101, (1.0,), modes=2), "modes 1 to 1"),
    ],
)
def test_impossible_spaces_are_refused(make, message):
    with pytest.raises(pio.PioError, match=message):
        make()
