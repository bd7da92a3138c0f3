"""What holds for every architecture that is registered, on an equation it accepts."""

from __future__ import annotations

import functools

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pio
from pio._fields import asked

REGISTRY = pio.discover()
ARCHITECTURES = sorted(REGISTRY.of("architecture"))


@functools.cache
def model(arch, equation="kdv", engine="taylor", hard=False):
    pde = REGISTRY.make("equation", equation)
    embedding = (
        REGISTRY.make("embedding", "fourier", {"order": 2})
        if pde.domain.periodic
        else REGISTRY.make("embedding", "none")
    )
    network = REGISTRY.make("architecture", arch, {"width": 6, "depth": 2})
    return pio.Model(pde, network, embedding, hard=hard, engine=engine)


@functools.cache
def params(arch, equation="kdv", seed=0):
    made = model(arch, equation).init(jax.random.key(seed), jnp.float64)
    # Biases start at zero, where mistakes hide.
    leaves, structure = jax.tree.flatten(made)
    keys = jax.random.split(jax.random.key(seed + 1), len(leaves))
    return jax.tree.unflatten(
        structure,
        [
            p + 0.3 * jax.random.normal(k, p.shape, p.dtype)
            for p, k in zip(leaves, keys, strict=True)
        ],
    )


def block(equation, seed, functions=3, places=4, times=2):
    pde = REGISTRY.make("equation", equation)
    keys = jax.random.split(jax.random.key(seed), 3)
    u = jnp.asarray(pio.draw(pde.inputs, keys[0], functions))
    x, t = (
        jax.random.uniform(k, (n,), jnp.float64, c.low, c.high)
        for k, n, c in zip(keys[1:], (places, times), pde.domain.coordinates, strict=True)
    )
    return u, x, t


FIELDS = ("s", "s_t", "s_x", "s_xx", "s_xxx", "s_tt", "s_xt", "u", "u_x", "u_xx", "x")


@functools.cache
def fields_of(arch):
    return jax.jit(lambda p, batch: model(arch).fields(p, batch, FIELDS))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**31 - 1))
def test_blocks_scattered_points_and_pairs_give_the_same_numbers(arch, seed):
    u, x, t = block("kdv", seed)
    shape = (len(u), len(x), len(t))
    fields = functools.partial(fields_of(arch), params(arch))
    whole = fields(pio.Batch.block(u, x=x, t=t))
    xs, ts = (
        jnp.broadcast_to(c, shape).reshape(len(u), -1) for c in (x[None, :, None], t[None, None])
    )
    scattered = fields(pio.Batch.scatter(u, x=xs, t=ts))
    each = jnp.repeat(u, len(x) * len(t), axis=0)
    pairs = fields(pio.Batch.pairs(each, x=xs.ravel(), t=ts.ravel()))
    for name in FIELDS:
        expected = jnp.broadcast_to(whole[name], shape)
        for other in (scattered, pairs):
            got = jnp.broadcast_to(other[name], (*other["s"].shape[:2], 1)).reshape(shape)
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


NAMES = ("s", "s_t", "s_x", "s_xx", "s_xxx", "s_tt", "s_xt", "u_x")


@functools.cache
def by_grad(arch):
    """Fields at one point by nested `jax.grad`, the textbook way."""

    def field(name, p, u, x, t):
        base, _, letters = name.partition("_")

        def value(x, t):
            point = {"x": x.reshape(1, 1, 1), "t": t.reshape(1, 1, 1)}
            return model(arch).solution(p, u[None], {base})(point)[base].reshape(())

        for letter in letters:
            value = jax.grad(value, "xt".index(letter))
        return value(x, t)

    return jax.jit(lambda *at: {name: field(name, *at) for name in NAMES})


@functools.cache
def by_taylor(arch):
    return jax.jit(lambda p, batch: model(arch).fields(p, batch, NAMES))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**31 - 1))
def test_fields_are_what_nested_reverse_mode_finds(arch, seed):
    u, x, t = block("kdv", seed, functions=1, places=1, times=1)
    ours = by_taylor(arch)(params(arch), pio.Batch.block(u, x=x, t=t))
    theirs = by_grad(arch)(params(arch), u[0], x[0], t[0])
    for name in NAMES:
        np.testing.assert_allclose(ours[name].reshape(()), theirs[name], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_fields_are_what_central_differences_find(arch):
    u, x, t = block("kdv", 3)
    fields = functools.partial(fields_of(arch), params(arch))
    exact = fields(pio.Batch.block(u, x=x, t=t))
    h = 1e-4

    def s(dx, dt):
        return fields(pio.Batch.block(u, x=x + dx, t=t + dt))["s"]

    np.testing.assert_allclose(exact["s_x"], (s(h, 0) - s(-h, 0)) / (2 * h), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(exact["s_t"], (s(0, h) - s(0, -h)) / (2 * h), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        exact["s_xx"], (s(h, 0) - 2 * s(0, 0) + s(-h, 0)) / h**2, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    ("arch", "equation", "hard"),
    [
        *((arch, "burgers", False) for arch in ARCHITECTURES),
        ("bxtg", "kdv", True),
        ("tl", "diffusion-reaction", True),
    ],
)
def test_both_engines_give_the_same_residual_and_gradient(arch, equation, hard):
    u, x, t = block(equation, 7)
    batch = pio.Batch.block(u, x=x, t=t)

    def loss(engine, p):
        return jnp.mean(model(arch, equation, engine, hard).residual(p, batch) ** 2)

    (a, da), (b, db) = (
        jax.jit(jax.value_and_grad(functools.partial(loss, engine)))(params(arch, equation))
        for engine in ("taylor", "nested")
    )
    np.testing.assert_allclose(a, b, rtol=1e-11)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12), da, db)


def test_derivatives_see_u_of_x():
    """The trunk of `tl` reads x only through u(x) once its own weights for x are zero."""
    u, x, t = block("advection", 2)
    weights = dict(params("tl", "advection"))
    name = next(n for n in weights if n.startswith("trunk") and weights[n]["w"].shape[0] == 3)
    weights[name] = {**weights[name], "w": weights[name]["w"].at[1].set(0.0)}
    got = model("tl", "advection").fields(weights, pio.Batch.block(u, x=x, t=t), ("s_x", "u_x"))
    assert jnp.abs(got["s_x"]).max() > 1e-6
    flat = model("tl", "advection").fields(
        weights, pio.Batch.block(jnp.full_like(u, 1.5), x=x, t=t), ("s_x", "u_x")
    )
    np.testing.assert_allclose(flat["u_x"], 0.0, atol=1e-8)
    np.testing.assert_allclose(flat["s_x"], 0.0, atol=1e-8)


def test_a_feature_that_is_not_declared_is_inert():
    """Two functions that agree at every declared feature cannot be told apart."""
    u, x, t = block("kdv", 5)
    made = model("vanilla")
    inputs = made.plan["trunk"]
    assert inputs.names == ("t", "φ(x)")
    batch, other = (pio.Batch.block(v, x=x, t=t) for v in (u, 2 * u + 1))
    raw, changed = (made.latents(params("vanilla"), b.u)(b.points) for b in (batch, other))
    np.testing.assert_array_equal(raw.trunk.hidden, changed.trunk.hidden)
    assert not np.allclose(raw.branch.hidden, changed.branch.hidden)


@pytest.mark.parametrize(
    ("arch", "branch", "trunk"),
    [
        ("vanilla", (3, 1, 1), (1, 4, 2)),
        ("bx", (3, 4, 1), (1, 4, 2)),
        ("tl", (3, 1, 1), (3, 4, 2)),
        ("bxtg", (3, 4, 1), (3, 4, 2)),
        ("modified", (3, 4, 2), (3, 4, 2)),
    ],
)
def test_a_subnetwork_runs_only_over_the_axes_it_reads(arch, branch, trunk):
    u, x, t = block("kdv", 0)
    assert model(arch).visited(params(arch), pio.Batch.block(u, x=x, t=t)) == (branch, trunk)


def test_the_first_layer_is_one_matrix_over_all_features():
    (first,) = (p["w"] for n, p in params("bxtg").items() if "trunk" in n and n.endswith("layer_0"))
    sensors = len(REGISTRY.make("equation", "kdv").inputs.sensors)
    assert first.shape == (1 + 2 * 2 + sensors, 6)


def test_joining_features_equals_concatenating_them():
    features = [
        jax.random.normal(jax.random.key(k), s)
        for k, s in enumerate([(3, 1, 1, 5), (1, 4, 1, 2), (3, 4, 2, 1)])
    ]
    net = hk.without_apply_rng(hk.transform(lambda f: pio.Join(7)(f)))
    p = net.init(jax.random.key(0), features)
    whole = jnp.concatenate([jnp.broadcast_to(f, (3, 4, 2, f.shape[-1])) for f in features], -1)
    np.testing.assert_allclose(
        net.apply(p, features), whole @ p["join"]["w"] + p["join"]["b"], rtol=1e-12
    )


def test_no_step_is_compiled_twice():
    traces = []

    @jax.jit
    def residual(p, batch):
        traces.append(1)
        return model("bxtg").residual(p, batch)

    for seed in range(3):
        u, x, t = block("kdv", seed)
        residual(params("bxtg"), pio.Batch.block(u, x=x, t=t))
    assert len(traces) == 1


class Plane:
    """Two unknowns on a plane: enough of an equation to ask for fields."""

    domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("y"), pio.Coordinate("t"))
    unknowns = ("s", "v")

    class Inputs:
        sensors = np.linspace(0.0, 1.0, 10).reshape(5, 2)  # a row each: x and y
        coordinates = ("x", "y")

        def sample(self, key, n):
            return jax.random.normal(key, (n, 5))

        def at(self, u, x, y):
            return u[..., 0] + u[..., 1] * x * jnp.cos(y)

    inputs = Inputs()

    grid: dict = {}  # noqa: RUF012
    references: dict = {}  # noqa: RUF012

    def conditions(self):
        return ()

    def residual(self, s_xx, s_yy, v_t, v, u_y):
        return {"first": s_xx + s_yy - v, "second": v_t + u_y}


@pytest.mark.parametrize("arch", ["vanilla", "bxtl", "bxtg", "modified"])
def test_more_coordinates_and_unknowns_are_only_more_axes_and_names(arch):
    network = REGISTRY.make("architecture", arch, {"width": 6, "depth": 2})
    plane = pio.Model(Plane(), network, REGISTRY.make("embedding", "none"))
    p = plane.init(jax.random.key(0), jnp.float64)
    u = Plane.inputs.sample(jax.random.key(1), 2)
    batch = pio.Batch.block(
        u, x=jnp.linspace(0, 1, 3), y=jnp.linspace(0, 1, 4), t=jnp.linspace(0, 1, 2)
    )
    out = plane.residual(p, batch)
    assert {k: r.shape for k, r in out.items()} == {"first": (2, 3, 4, 2), "second": (2, 3, 4, 2)}
    names = ("s_xy", "v_yt", "u_y")
    nested = pio.Model(Plane(), network, REGISTRY.make("embedding", "none"), engine="nested")
    for name in names:
        np.testing.assert_allclose(
            plane.fields(p, batch, names)[name],
            nested.fields(p, batch, names)[name],
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("name", ["s_z", "s_", "q", "q_x", "s_xz"])
def test_a_misspelt_field_is_named(name):
    u, x, t = block("kdv", 0)
    with pytest.raises(pio.PioError, match=name):
        model("vanilla").fields(params("vanilla"), pio.Batch.block(u, x=x, t=t), (name,))


def test_an_equation_without_an_ansatz_cannot_be_hard():
    with pytest.raises(pio.PioError, match="ansatz"):
        pio.Model(
            Plane(),
            REGISTRY.make("architecture", "vanilla"),
            REGISTRY.make("embedding", "none"),
            hard=True,
        )


def test_an_equation_names_its_fields():
    assert asked(REGISTRY.make("equation", "kdv").residual) == ("s", "s_t", "s_x", "s_xxx")


@pytest.mark.parametrize("equation", ["burgers", "kdv"])
@settings(max_examples=5)
@given(shift=st.floats(0.0, 1.0))
def test_a_centred_model_moves_with_its_input(equation, shift):
    """Moving u along the circle moves the solution, for any network."""
    pde = REGISTRY.make("equation", equation)
    length = pde.domain["x"].length
    network = REGISTRY.make("architecture", "bxtg", {"width": 6, "depth": 2})
    centred = pio.Model(
        pde, network, REGISTRY.make("embedding", "fourier"), hard=True, centred=True
    )
    p = centred.init(jax.random.key(3), jnp.float64)
    u, x, t = block(equation, 4)
    sensors = jnp.asarray(pde.inputs.sensors)
    moved = pde.inputs.at(u[:, None, :], sensors - shift * length)
    s = centred.apply(p, pio.Batch.block(u, x=x, t=t))["s"]
    there = centred.apply(p, pio.Batch.block(moved, x=x + shift * length, t=t))["s"]
    np.testing.assert_allclose(there, s, rtol=1e-8, atol=1e-9)


def test_only_periodic_functions_can_be_centred():
    with pytest.raises(pio.PioError, match="periodic"):
        pio.Model(
            REGISTRY.make("equation", "advection"),
            REGISTRY.make("architecture", "bxtg"),
            REGISTRY.make("embedding", "none"),
            centred=True,
        )


def test_an_ansatz_that_asks_for_what_there_is_not_is_named():
    class Asking(Plane):
        def ansatz(self, n, amplitude):
            return tuple(amplitude * part for part in n)

    network = REGISTRY.make("architecture", "vanilla", {"width": 6, "depth": 2})
    asking = pio.Model(Asking(), network, REGISTRY.make("embedding", "none"), hard=True)
    p = asking.init(jax.random.key(0), jnp.float64)
    u = Plane.inputs.sample(jax.random.key(1), 2)
    batch = pio.Batch.block(u, x=jnp.zeros(1), y=jnp.zeros(1), t=jnp.zeros(1))
    with pytest.raises(pio.PioError, match="amplitude"):
        asking.apply(p, batch)
