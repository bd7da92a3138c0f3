"""Every optimiser descends; SOAP does so where the axes of the problem are not those of the matrix."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import pio
import pio.testing

REGISTRY = pio.discover()
NAMES = list(REGISTRY.of("optimizer"))
SHAPE = (12, 8)


def make(name, **options):
    return REGISTRY.make("optimizer", name, options)


def orthogonal(seed, n):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


@cache
def bowl(left=4, right=3, shape=SHAPE):
    """½⟨W − T, A (W − T) B⟩, where A and B span so many decades, in rotated axes."""
    p, q = orthogonal(0, shape[0]), orthogonal(1, shape[1])
    a = p @ np.diag(np.logspace(0, -left, shape[0])) @ p.T
    b = q @ np.diag(np.logspace(0, -right, shape[1])) @ q.T
    return a, b, np.random.default_rng(2).normal(size=shape)


# Of a matrix that is not square, the longer gram matrix is singular at first, and rounding chooses
# among its eigenvectors of eigenvalue zero. Where two runs are compared, take a square one.
SQUARE = (6, 6)


def quadratic(a, b, t, w):
    a, b, t = (jnp.asarray(z, w.dtype) for z in (a, b, t))
    return 0.5 * jnp.sum((w - t) * (a @ (w - t) @ b))


def descend(optimizer, loss, params, steps):
    """The parameters and losses along the way, in one compiled loop."""
    transformation = optimizer.transform(steps)

    def step(carry, _):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = transformation.update(
            grads, state, params, value=value, grad=grads, value_fn=loss
        )
        params = optax.apply_updates(params, updates)
        return (params, state), (params, value)

    @jax.jit
    def run(params):
        return jax.lax.scan(step, (params, transformation.init(params)), None, length=steps)

    return run(params)[1]


# One test a check: a transformation, its state, that it descends, and so on.
for _name in NAMES:
    globals()[f"test_{_name}"] = pio.testing.suite("optimizer", _name)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        *((name, b, v) for name in ("adamw", "soap") for b in ("b1", "b2") for v in (1.0, -0.1)),
        ("muon", "momentum", 1.0),
        ("adamw", "eps", 0.0),
        ("soap", "eps", float("nan")),
        ("soap", "largest", 0),
        ("muon", "weight_decay", -1.0),
    ],
)
def test_options_that_cannot_work_are_refused(name, option, value):
    with pytest.raises(pio.PioError, match=rf"optimizer\.{option} is .* \(got {value:g}\)"):
        make(name, **{option: value})


def test_adamw_is_the_published_one():
    ours = make("adamw").transform(300_000)
    theirs = optax.adamw(
        optax.exponential_decay(1e-3, 500, 0.99), b1=0.9, b2=0.999, eps=1e-8, weight_decay=1e-4
    )
    params = jnp.asarray(np.random.default_rng(0).normal(size=SHAPE))
    with jax.numpy_dtype_promotion("standard"):
        pairs = [t.update(params**2, t.init(params), params)[0] for t in (ours, theirs)]
    np.testing.assert_allclose(*pairs, rtol=1e-6)  # optax computes its rate in float32


def test_soap_beats_adam_by_far_where_the_axes_are_rotated():
    loss, start = partial(quadratic, *bowl()), jnp.zeros(SHAPE)

    def best(name, **options):
        rates = (0.03, 0.1, 0.3)
        runs = [make(name, learning_rate=r, decay="cosine", **options) for r in rates]
        return min(float(loss(descend(run, loss, start, 400)[0][-1])) for run in runs)

    adam = {"b1": 0.95, "b2": 0.95, "weight_decay": 0.0, "warmup": 0.02}
    assert best("soap") < 1e-3 * best("adamw", **adam)


def test_turning_the_problem_turns_the_iterates_of_soap():
    a, b, t = bowl(1, 1, SQUARE)
    u, v = orthogonal(5, SQUARE[0]), orthogonal(6, SQUARE[1])
    soap = make("soap", learning_rate=0.03, precondition_frequency=1)
    path, _ = descend(soap, partial(quadratic, a, b, t), jnp.zeros(SQUARE), 30)
    turned = partial(quadratic, u @ a @ u.T, v @ b @ v.T, u @ t @ v.T)
    other, _ = descend(soap, turned, jnp.zeros(SQUARE), 30)
    np.testing.assert_allclose(u.T @ np.asarray(other) @ v, path, atol=1e-6)


def test_soap_is_adam_where_the_axes_are_those_of_the_matrix():
    # The gradient is diagonal, hence so are both gram matrices, and the basis only sorts and signs.
    heights, target = jnp.logspace(0, -2, 6), jnp.arange(1.0, 7.0)

    def loss(w):
        return 0.5 * jnp.sum(heights * (jnp.diagonal(w) - target) ** 2)

    same = {"learning_rate": 0.05, "decay": "constant", "b1": 0.9, "b2": 0.95, "weight_decay": 0.0}
    soap, _ = descend(make("soap", warmup=0.0, **same), loss, jnp.zeros((6, 6)), 41)
    adam, _ = descend(make("adamw", **same), loss, jnp.zeros((6, 6)), 40)
    assert not soap[0].any()  # the first gradient sets up the basis
    np.testing.assert_allclose(soap[1:], adam, atol=1e-7)


def test_soap_leaves_vectors_and_long_sides_to_adam():
    soap = make("soap", learning_rate=0.05, warmup=0.0, decay="constant", largest=8)
    state = soap.transform(1).init(
        {"w": jnp.zeros(SHAPE), "b": jnp.zeros(8), "o": jnp.zeros((8, 1))}
    )
    assert set(state[0].basis) == {"w right", "o left"}
    target = jnp.arange(1.0, 9.0)
    same = {"learning_rate": 0.05, "decay": "constant", "b1": 0.95, "b2": 0.95, "weight_decay": 0.0}
    ours, _ = descend(soap, lambda b: jnp.sum((b - target) ** 2), jnp.zeros(8), 11)
    adam, _ = descend(make("adamw", **same), lambda b: jnp.sum((b - target) ** 2), jnp.zeros(8), 10)
    np.testing.assert_allclose(ours[1:], adam, rtol=1e-12)


def test_the_basis_of_soap_stays_orthogonal_in_single_precision_and_for_tiny_gradients():
    transformation = make("soap", precondition_frequency=1).transform(100)
    a, b, t = (jnp.asarray(z, jnp.float32) for z in bowl())
    params = jnp.zeros(SHAPE, jnp.float32)
    state = transformation.init(params)
    update = jax.jit(transformation.update)
    for scale in (1.0, 1e-3, 1e-9, 0.0):
        for _ in range(3):
            grads = jax.grad(lambda w, s=scale: s * quadratic(a, b, t, w))(params)
            updates, state = update(grads, state, params)
            params = optax.apply_updates(params, updates)
    for q in state[0].basis.values():
        np.testing.assert_allclose(q.T @ q, np.eye(len(q)), atol=1e-5)
    assert np.isfinite(params).all()


def test_soap_under_vmap_is_soap_of_each_and_switches_once():
    loss = partial(quadratic, *bowl(1, 1, SQUARE))
    starts = jnp.stack([jnp.zeros(SQUARE), jnp.ones(SQUARE)])
    soap = make("soap", learning_rate=0.03)
    together = jax.vmap(lambda w: descend(soap, loss, w, 20)[0][-1])(starts)
    alone = jnp.stack([descend(soap, loss, w, 20)[0][-1] for w in starts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    # A choice between results would compute the factorisations at every step.
    transformation = soap.transform(20)
    states = jax.vmap(transformation.init)(starts)
    program = jax.make_jaxpr(jax.vmap(transformation.update))(starts, states, starts)
    assert [len(e.params["branches"]) for e in program.eqns if e.primitive.name == "cond"] == [3]


def test_lbfgs_solves_a_quadratic_and_says_what_it_needs():
    lbfgs = make("lbfgs")
    assert lbfgs.needs == {"value_fn"}
    _, losses = descend(lbfgs, partial(quadratic, *bowl(2, 1)), jnp.zeros(SHAPE), 60)
    assert losses[-1] < 1e-4 * losses[0]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("soap", {"precondition_frequency": 0}, "every 1 step or more"),
        ("soap", {"learning_rate": -1.0}, "peak is positive"),
        ("adamw", {"decay": "linear"}, "decay"),
        ("muon", {"warmup": -0.5}, "warmup"),
        ("lbfgs", {"memory": 0}, "at least"),
    ],
)
def test_impossible_options_are_refused(name, options, message):
    with pytest.raises(pio.PioError, match=message):
        make(name, **options)


def test_soap_is_what_its_formulas_say():
    """Against a plain transcription in NumPy, as the method's authors wrote it."""
    a, b, t = bowl(1, 1, SQUARE)
    rate, b1, b2, eps, every = 0.03, 0.9, 0.95, 1e-8, 3
    w, mean, square = np.zeros(SQUARE), np.zeros(SQUARE), np.zeros(SQUARE)
    left = right = np.zeros(SQUARE)
    ql = qr = np.eye(len(left))
    expected = []
    for n in range(20):
        g = a @ (w - t) @ b
        if n:
            mean = b1 * mean + (1 - b1) * g
            square = b2 * square + (1 - b2) * (ql.T @ g @ qr) ** 2
            scale = np.sqrt(square / (1 - b2**n)) + eps
            w = w - rate * ql @ (ql.T @ mean @ qr / (1 - b1**n) / scale) @ qr.T
        left, right = b2 * left + (1 - b2) * g @ g.T, b2 * right + (1 - b2) * g.T @ g
        if n == 0:
            ql, qr = (np.linalg.eigh(m)[1][:, ::-1] for m in (left, right))
        elif n % every == 0:
            ol, orr = (np.argsort(-np.diag(q.T @ m @ q)) for m, q in ((left, ql), (right, qr)))
            square = square[ol][:, orr]
            ql, qr = np.linalg.qr(left @ ql[:, ol])[0], np.linalg.qr(right @ qr[:, orr])[0]
        expected.append(w)
    options = {"b1": b1, "b2": b2, "precondition_frequency": every, "warmup": 0.0}
    soap = make("soap", learning_rate=rate, decay="constant", **options)
    path, _ = descend(soap, partial(quadratic, a, b, t), jnp.zeros(SQUARE), 20)
    np.testing.assert_allclose(path, expected, atol=1e-6)
