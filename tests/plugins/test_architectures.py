"""What holds for every architecture, and for every combination with the rest."""

from __future__ import annotations

import itertools
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio
import pio.testing

REGISTRY = pio.discover()
KINDS = ("equation", "architecture", "embedding")
EQUATIONS, ARCHITECTURES, EMBEDDINGS = (sorted(REGISTRY.of(kind)) for kind in KINDS)
PERIODIC = [n for n in EQUATIONS if REGISTRY.make("equation", n).domain.periodic]
SMALL = {"architecture": {"width": 4, "depth": 2}}


def small(equation, architecture, embedding, **rest):
    options = dict(SMALL)
    if embedding == "fourier":
        options["embedding"] = {"order": 2}
    if embedding == "random-fourier":
        options["embedding"] = {"features": 3}
    return pio.compose(REGISTRY, equation, architecture, embedding, options, **rest)


@cache
def functions(equation):
    return equation.inputs.sample(jax.random.key(1), 2)


def parameters(model, dtype=jnp.float64):
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return jax.tree.map(lambda p: jnp.asarray(rng.normal(0.0, 0.5, p.shape), dtype), shapes)


def size(model):
    return sum(p.size for p in jax.tree.leaves(jax.eval_shape(model.init, jax.random.key(0))))


@pytest.mark.parametrize(("sensors", "parameters"), [(101, 142_200), (100, 142_000)])
def test_the_modified_network_has_the_published_number_of_parameters(sensors, parameters):
    options = {"equation": {"sensors": sensors}}
    assert size(pio.compose(REGISTRY, "advection", "modified", "none", options)) == parameters


@pytest.mark.parametrize(
    ("name", "branch", "trunk"),
    [("vanilla", 101, 2), ("bx", 102, 2), ("tl", 101, 3), ("bxtl", 102, 3), ("bxtg", 102, 103)],
)
def test_inputs_are_concatenated_and_nothing_else_changes(name, branch, trunk):
    hidden, last = 5 * (100 * 100 + 100), 100 * 100 + 100
    expected = sum(100 * inputs + 100 + hidden + last for inputs in (branch, trunk))
    assert size(pio.compose(REGISTRY, "advection", name, "none")) == expected


def test_fourier_coefficients_are_as_many_as_the_harmonics_shown():
    vanilla, tf = (pio.compose(REGISTRY, "burgers", a, "fourier") for a in ("vanilla", "tf"))
    assert size(tf) - size(vanilla) == 2 * vanilla.equation.harmonics * 100


def test_gates_are_in_the_published_order():
    # h ← Z ⊙ U + (1 − Z) ⊙ V in both networks, with U from the branch's input and V from the trunk's.
    m = small("advection", "modified", "none")
    p = parameters(m)
    u, x, t = functions(m.equation)[:1], 0.3, 0.6
    y = jnp.array([[t, x]])

    def dense(name, h):
        return h @ p[name]["w"] + p[name]["b"]

    U, V = jnp.tanh(dense("branch_encoder", u)), jnp.tanh(dense("trunk_encoder", y))
    hidden = {"branch": u, "trunk": y}
    for k, side in itertools.product(range(2), hidden):
        z = jnp.tanh(dense(f"{side}_{k}", hidden[side]))
        hidden[side] = z * U + (1 - z) * V
    b, gamma = (h @ p["~"][f"{side}_w"] + p["~"][f"{side}_b"] for side, h in hidden.items())
    batch = pio.Batch.pairs(u, x=jnp.array([x]), t=jnp.array([t]))
    np.testing.assert_allclose(m.apply(p, batch)["s"].ravel(), jnp.sum(b * gamma, -1), rtol=1e-12)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_of_joined_features_are_not_sums_of_padded_products(architecture):
    # XLA of jaxlib 0.10 fuses those on CPUs into a program that crashes; see `pio.Join`.
    m = small("kdv", architecture, "none")
    t = jnp.zeros(1)
    batch = pio.Batch.block(functions(m.equation), x=jnp.array([0.1, 0.7]), t=t)
    slope = jax.grad(lambda p: jnp.sum(m.apply(p, batch)["s"]))
    assert " pad[" not in str(jax.make_jaxpr(slope)(parameters(m)))


@pytest.mark.parametrize("equation", PERIODIC)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_fourier_makes_everything_periodic_with_its_derivatives(equation, architecture):
    m = small(equation, architecture, "fourier")
    x = m.equation.domain["x"]
    ends = pio.Batch.block(functions(m.equation), x=jnp.array([x.low, x.high]), t=jnp.array([0.4]))
    for name, s in m.fields(parameters(m), ends, ("s", "s_t", "s_x", "s_xx", "s_xxx")).items():
        low, high = s[:, 0], s[:, 1]
        scale = 1 + (2 * np.pi * 2 / x.length) ** name.count("x")
        assert np.abs(low - high).max() < 1e-11 * scale * max(1, np.abs(low).max()), name


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_sizes_must_be_positive(name):
    for options in ({"width": 0}, {"depth": 0}):
        with pytest.raises(pio.PioError, match="at least one hidden layer of at least one neuron"):
            REGISTRY.make("architecture", name, options)


def test_every_combination_works_or_is_refused_with_names_that_do():
    for equation, architecture, embedding in itertools.product(
        EQUATIONS, ARCHITECTURES, EMBEDDINGS
    ):
        if equation in PERIODIC:
            odd = embedding == "cosine"
        else:
            odd = embedding == "fourier" or architecture.endswith("tf")
        if not odd:
            small(equation, architecture, embedding)
            continue
        with pytest.raises(pio.PioError, match=f"does not suit equation '{equation}'") as refusal:
            small(equation, architecture, embedding)
        assert "you may use" in str(refusal.value) or (architecture, embedding) in (
            ("tf", "fourier"),
            ("bxtf", "fourier"),
        )


def test_fourier_coefficients_of_functions_that_are_not_periodic_are_refused():
    with pytest.raises(pio.PioError, match=r"'û'.*only where u is periodic.*--arch bx, bxtg, bxtl"):
        pio.compose(REGISTRY, "advection", "tf", "none")


def test_harmonics_of_a_coordinate_that_is_not_periodic_are_refused():
    with pytest.raises(pio.PioError, match=r"no coordinate of this equation is.*random-fourier"):
        pio.compose(REGISTRY, "advection", "bxtg", "fourier")


# One test a check: features that there are, aligned outputs, finite gradients with every equation, and so on.
for _name in ARCHITECTURES:
    _depth = 2 if _name in ("bxtg", "modified") else 1  # what is deeper takes longer to compile
    globals()[f"test_{_name}"] = pio.testing.suite("architecture", _name, width=4, depth=_depth)
