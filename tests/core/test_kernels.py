"""Both kernels are squared norms of gradients, by definition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio

REGISTRY = pio.discover()
EQUATIONS = sorted(REGISTRY.of("equation"))
SMALL = {"architecture": {"width": 4, "depth": 2}, "embedding": {}}


def model(equation, architecture, embedding="none", hard=False):
    return pio.compose(REGISTRY, equation, architecture, embedding, SMALL, hard=hard)


@cache
def functions(equation):
    return equation.inputs.sample(jax.random.key(1), 2)


def batch(equation):
    return pio.Batch.block(functions(equation), x=jnp.array([0.1, 0.7]), t=jnp.array([0.2, 0.9]))


def parameters(model):
    """Somewhere else than at initialisation, where biases are zero."""
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return jax.tree.map(lambda p: jnp.asarray(rng.normal(0.0, 0.5, p.shape)), shapes)


def is_last(path):
    """Whether a parameter belongs to the last layer of branch or trunk, by how these name theirs."""
    module, name = (key.key for key in path)
    return module in ("branch", "trunk") or (module == "~" and name[-2:] in ("_w", "_b"))


def quick(fun):
    """Compiled without optimisation: these programs run once."""
    return jax.jit(fun, compiler_options={"xla_backend_optimization_level": 0})


def defined(residual, params):
    """(ck, ntk) at each point, from the whole Jacobian."""
    jacobian = quick(jax.jacrev(residual))(params)
    shape = jax.eval_shape(residual, params).shape
    ck, ntk = jnp.zeros(shape), jnp.zeros(shape)
    for path, slope in jax.tree_util.tree_leaves_with_path(jacobian):
        square = jnp.sum(slope.reshape(*shape, -1) ** 2, -1)
        ntk += square
        ck += square if is_last(path) else 0
    return ck, ntk


def found(model, function, batch, params, versus=None):
    return [
        quick(lambda p, kind=kind: pio.kernel(model, p, function, batch, kind, versus))(params)
        for kind in ("ck", "ntk")
    ]


# Branches that read x and that do not, and gates that mix both; with the ansatz and without.
CASES = [
    *((equation, *case) for equation in EQUATIONS for case in (("vanilla", False), ("bxtg", True))),
    ("kdv", "modified", False),
    ("burgers", "bxtl", False),
    ("diffusion-reaction", "vanilla", True),
]


@pytest.mark.parametrize(("equation", "architecture", "hard"), CASES)
def test_kernels_of_the_residual_are_squared_gradient_norms(equation, architecture, hard):
    m = model(equation, architecture, hard=hard)
    params, b = parameters(m), batch(m.equation)
    expected = defined(lambda p: m.residual(p, b), params)
    for k, e in zip(found(m, m.equation.residual, b, params), expected, strict=True):
        np.testing.assert_allclose(k, e, rtol=1e-8)


@pytest.mark.parametrize("equation", ["advection", "burgers"])
def test_kernels_of_conditions_are_squared_gradient_norms(equation):
    m = model(equation, "bxtg")
    params = parameters(m)
    for c in m.equation.conditions():
        here = batch(m.equation).at(**c.at)
        there = None if c.versus is None else batch(m.equation).at(**c.versus)

        def residual(p, c=c, here=here, there=there):
            value = m.evaluate(c.residual, p, here)
            return value if there is None else value - m.evaluate(c.residual, p, there)

        expected = defined(residual, params)
        for k, e in zip(found(m, c.residual, here, params, there), expected, strict=True):
            np.testing.assert_allclose(k, e, rtol=1e-8, atol=1e-12)


def test_the_closed_form_for_a_branch_without_coordinates():
    # K = ‖𝓛γ‖² (1 + ‖h_b‖²) + ‖b‖² (‖𝓛h_t‖² + c₀²), with Burgers' 𝓛 = s_x + ∂_t + s ∂_x − ν ∂_xx.
    m = model("burgers", "vanilla")
    params, b = parameters(m), batch(m.equation)
    s = m.fields(params, b, ("s", "s_x"))
    latents = m.latents(params, b.u)

    def applied(side, value):
        def quantity(point):
            affine = getattr(latents(point), side)
            return {"s": affine.value() if value else affine.hidden}

        from pio._fields import evaluate

        names = ("s", "s_t", "s_x", "s_xx")
        q = evaluate(quantity, b.points, m.equation.domain, names, ("s",))
        lift = {k: v[..., None] for k, v in s.items()}
        return lift["s_x"] * q["s"] + q["s_t"] + lift["s"] * q["s_x"] - m.equation.nu * q["s_xx"]

    def norm(a):
        return jnp.sum(a**2, -1)

    branch = latents(b.points).branch
    expected = norm(applied("trunk", True)) * (1 + norm(branch.hidden)) + norm(branch.value()) * (
        norm(applied("trunk", False)) + s["s_x"] ** 2
    )
    np.testing.assert_allclose(pio.kernel(m, params, m.equation.residual, b), expected, rtol=1e-10)


@pytest.mark.parametrize("hard", [False, True])
def test_the_residual_beside_the_kernel_is_the_residual_with_its_gradient(hard):
    m = model("kdv", "bxtg", hard=hard)
    params, b = parameters(m), batch(m.equation)

    def beside(p):
        residual, kernel = pio.with_kernel(m, p, m.equation.residual, b)
        return jnp.sum(residual**2 * kernel), residual

    (_, residual), slope = quick(jax.value_and_grad(beside, has_aux=True))(params)
    constant = pio.kernel(m, params, m.equation.residual, b)
    expected = quick(jax.grad(lambda p: jnp.sum(m.residual(p, b) ** 2 * constant)))(params)
    np.testing.assert_allclose(residual, m.residual(params, b), rtol=1e-10, atol=1e-12)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-7, atol=1e-9), slope, expected)


def test_layouts_agree():
    m = model("burgers", "bxtg")
    params, b = parameters(m), batch(m.equation)
    x, t = (jnp.broadcast_to(b.points[n], b.shape).ravel() for n in "xt")
    rows = jnp.repeat(b.u, 4, axis=0)
    pairs = pio.Batch.pairs(rows, x=x, t=t)
    for kind in ("ck", "ntk"):
        block, flat = (
            pio.kernel(m, params, m.equation.residual, layout, kind) for layout in (b, pairs)
        )
        np.testing.assert_allclose(block.ravel(), flat.ravel(), rtol=1e-9)


def test_both_engines_agree():
    taylor = model("kdv", "bxtg", hard=True)
    nested = pio.Model(
        taylor.equation, taylor.architecture, taylor.embedding, hard=True, engine="nested"
    )
    params, b = parameters(taylor), batch(taylor.equation)
    k, e = (pio.kernel(m, params, m.equation.residual, b) for m in (taylor, nested))
    np.testing.assert_allclose(k, e, rtol=1e-8)


@dataclass(frozen=True)
class System:
    """Two unknowns with two residuals, on the domain and inputs of Burgers' equation."""

    burgers: Any
    unknowns = ("s", "v")
    grid = references = None

    @property
    def domain(self):
        return self.burgers.domain

    @property
    def inputs(self):
        return self.burgers.inputs

    def residual(self, s, s_t, v_x, v):
        return {"mass": s_t + v_x * s, "momentum": v * v - s}

    def conditions(self):
        return ()


def test_a_system_has_a_kernel_for_each_residual():
    burgers = REGISTRY.make("equation", "burgers")
    architecture = REGISTRY.make("architecture", "bxtg", SMALL["architecture"])
    m = pio.Model(System(burgers), architecture, REGISTRY.make("embedding", "none"))
    params, b = parameters(m), batch(burgers)
    kernels = found(m, m.equation.residual, b, params)
    for name in ("mass", "momentum"):
        expected = defined(lambda p, name=name: m.residual(p, b)[name], params)
        for k, e in zip(kernels, expected, strict=True):
            np.testing.assert_allclose(k[name], e, rtol=1e-8)


@dataclass(frozen=True)
class Plain:
    """One network of everything: no branch, no trunk."""

    @property
    def reads(self):
        return {"all": ("u", "t", "x")}

    def network(self, outputs):
        def forward(inputs):
            out = hk.Linear(outputs)(jnp.tanh(pio.Join(4)(inputs["all"])))
            return tuple(out[..., k] for k in range(outputs))

        return pio.Network(*hk.without_apply_rng(hk.transform(forward)))


def test_the_conjugate_kernel_of_a_network_without_latents_is_refused():
    burgers = REGISTRY.make("equation", "burgers")
    m = pio.Model(burgers, Plain(), REGISTRY.make("embedding", "none"))
    with pytest.raises(pio.PioError, match=r"Plain returns no pio\.Latents; use --weighting ntk"):
        pio.check(m, REGISTRY.make("weighting", "ck"), {"residual": 0})
    pio.check(m, REGISTRY.make("weighting", "ntk"), {"residual": 0})
    params, b = m.init(jax.random.key(0)), batch(burgers)
    expected = defined(lambda p: m.residual(p, b), params)[1]
    k = pio.kernel(m, params, burgers.residual, b, "ntk")
    np.testing.assert_allclose(k, expected, rtol=1e-8)
