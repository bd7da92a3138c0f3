"""What holds for every weighting, and what each one is for."""

from __future__ import annotations

from functools import cache

import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pio
import pio.testing

REGISTRY = pio.discover()
NAMES = sorted(REGISTRY.of("weighting"))
ROWS = {"residual": 12, "initial": 6}


@pytest.fixture(params=NAMES)
def weighting(request):
    return REGISTRY.make("weighting", request.param)


def make(name, **options):
    return REGISTRY.make("weighting", name, options)


def told(residuals, step=0, kernels=None, rows=None, norms=None):
    """Everything a weighting may ask for."""
    return {
        "step": step,
        "kernels": kernels or {k: r**2 for k, r in residuals.items()},
        "rows": rows or {k: jnp.arange(r.size).reshape(r.shape) for k, r in residuals.items()},
        "points": {
            k: {"x": jnp.zeros(r.shape, r.dtype), "t": jnp.linspace(0, 1, r.size, dtype=r.dtype).reshape(r.shape)}
            for k, r in residuals.items()
        },
        "inputs": {k: jnp.ones((len(r), 3), r.dtype) for k, r in residuals.items()},
        "norms": lambda: norms or {k: jnp.sqrt(jnp.sum(r**2)) for k, r in residuals.items()},
    }  # fmt: skip


def update(weighting, state, residuals, **rest):
    return weighting.update(state, residuals, **told(residuals, **rest))


ANYTHING = st.sampled_from([0.0, 1e-300, 1e-30, 1e-12, -1.0, 3.0, 1e19, -1e160, 1e300, float("inf"), float("nan")]) | st.floats()  # fmt: skip


@cache
def compiled(name, bits, **options):
    """A weighting with its update, compiled once for all examples of a precision."""
    weighting = make(name, **options)
    del bits

    def step(state, r, step):
        return update(weighting, state, {"residual": r, "initial": r[::-1]}, step=step)

    return weighting, jax.jit(step, compiler_options={"xla_backend_optimization_level": 0})


@pytest.mark.parametrize("bits", [32, 64])
@settings(max_examples=25)
@given(
    first=hnp.arrays(np.float64, (6, 1, 1), elements=ANYTHING),
    then=hnp.arrays(np.float64, (6, 1, 1), elements=ANYTHING),
)
def test_weights_are_finite_and_positive_whatever_the_residuals(bits, first, then):
    with jax.enable_x64(bits == 64), np.errstate(over="ignore"):
        for weighting, step in (
            *(compiled(name, bits) for name in NAMES),
            compiled("ck", bits, cadence=2),
        ):
            state = weighting.init(ROWS)
            for n, r in enumerate((first, then, first)):
                weights, state = step(state, jnp.asarray(r.astype(f"float{bits}")), n)
                assert set(weights) == {"residual", "initial"}
                for w in map(np.asarray, weights.values()):
                    assert w.dtype == f"float{bits}"
                    assert np.isfinite(w).all(), weighting
                    assert (w > 0).all(), weighting
                    assert np.broadcast_shapes(w.shape, r.shape) == r.shape


def model(weighting):
    options = {"architecture": {"width": 4, "depth": 1}}
    m = pio.compose(REGISTRY, "burgers", "bxtg", "none", options)
    pio.check(m, weighting, ROWS)
    return m


def descent(m, weighting):
    """A step of gradient descent, with two terms on six points each."""
    terms = {"residual": m.equation.residual, "initial": m.equation.conditions()[0].residual}
    kind = "ntk" if "ntk" in weighting.needs else "ck"

    def step(params, state, u, number):
        line = jnp.linspace(0.1, 0.9, 6, dtype=u.dtype)
        batch = pio.Batch.pairs(u, x=line, t=line**2)

        def loss(params):
            both = {k: pio.with_kernel(m, params, f, batch, kind) for k, f in terms.items()}
            residuals = {k: r for k, (r, _) in both.items()}
            fixed = jax.lax.stop_gradient(residuals)
            kernels = {k: kernel for k, (_, kernel) in both.items()}
            rest = told(fixed, number, kernels) | {"points": dict.fromkeys(terms, batch.points)}
            weights, after = weighting.update(state, fixed, **rest)
            return sum(jnp.mean(weights[k] * r**2) for k, r in residuals.items()), after

        (value, after), slope = jax.value_and_grad(loss, has_aux=True)(params)
        params = jax.tree.map(lambda p, g: p - jnp.asarray(1e-4, p.dtype) * g, params, slope)
        return value, params, after

    return jax.jit(step, compiler_options={"xla_backend_optimization_level": 0})


# One test a check: positive weights, a state of fixed shape, honest needs, and so on.
for _name in NAMES:
    globals()[f"test_{_name}"] = pio.testing.suite("weighting", _name)


def test_seeds_may_be_mapped_over(weighting):
    m = model(weighting)
    u = m.equation.inputs.sample(jax.random.key(1), 6)
    several = jax.vmap(m.init)(jax.random.split(jax.random.key(0), 2))
    state = weighting.init(ROWS)
    step = descent(m, weighting)
    together = jax.vmap(step, in_axes=(0, None, None, None))(several, state, u, 0)
    for k in range(2):
        alone = step(jax.tree.map(lambda p, k=k: p[k], several), state, u, 0)
        jax.tree.map(
            lambda a, b, k=k: np.testing.assert_allclose(a[k], b, rtol=1e-6, atol=1e-9),
            together,
            alone,
        )


def test_fixed_weights_are_what_they_are_told():
    weighting = make("fixed", initial=20.0, boundary=3.0)
    residuals = {name: jnp.ones((2, 1)) for name in ("residual", "initial", "left", "periodic_x")}
    weights, _ = update(weighting, weighting.init({}), residuals)
    assert [w.item() for w in weights.values()] == [1.0, 20.0, 3.0, 3.0]


@pytest.mark.parametrize(("exponent", "power"), [(0.5, 0.5), (1.0, 1.0), (0.0, 0.0)])
def test_kernel_weights_are_relative_to_the_largest_of_all_terms(exponent, power):
    weighting = make("ck", exponent=exponent)
    kernels = {"residual": jnp.array([4.0, 100.0]), "initial": jnp.array([1.0])}
    residuals = {name: jnp.ones_like(k) for name, k in kernels.items()}
    weights, _ = update(weighting, weighting.init({}), residuals, kernels=kernels)
    np.testing.assert_allclose(weights["residual"], [25.0**power, 1.0])
    np.testing.assert_allclose(weights["initial"], [100.0**power])


def test_kernels_are_only_asked_for_when_they_are_due():
    weighting = make("ntk", cadence=3)
    residuals = {"residual": jnp.ones(2), "initial": jnp.ones(1)}
    state, asked, weights = weighting.init(ROWS), [], []

    def kernels(step):
        # A callback, because both sides of a condition are traced.
        jax.debug.callback(asked.append, step)
        return {"residual": jnp.array([4.0, 16.0]) * (step + 1), "initial": jnp.array([64.0])}

    for n in range(4):
        rest = told(residuals, jnp.asarray(n)) | {
            "kernels": lambda n=n: kernels(jnp.asarray(n, float))
        }
        new, state = weighting.update(state, residuals, **rest)
        weights.append(new["residual"].item())
    jax.effects_barrier()
    assert [int(n) for n in asked] == [0, 3]
    np.testing.assert_allclose(weights[:3], [3.0] * 3)  # the mean of 4 and 2
    np.testing.assert_allclose(weights[3], 1.5)


# ---------------------------------------------------------------------------------------------
# Balanced residual decay rates


def by_hand(visits, rows, beta_c, beta_w, batch):
    """The published recursion in plain Python. `visits` lists, per step, rows and residuals by term."""
    w = {k: [1.0] * n for k, n in rows.items()}
    e = {k: [0.0] * n for k, n in rows.items()}
    last = {k: [0] * n for k, n in rows.items()}
    for n, visit in enumerate(visits, 1):
        irdr = {}
        for term, pairs in visit.items():
            for row, r in pairs:
                gap = min(n - last[term][row], 10 * rows[term] / batch[term])
                e[term][row] = beta_c**gap * e[term][row] + (1 - beta_c**gap) * r**4
                rate = r**2 / ((e[term][row] / (1 - beta_c**n)) ** 0.5 + 1e-14)
                irdr[term, row] = rate, gap
                last[term][row] = n
        mean = sum(rate for rate, _ in irdr.values()) / len(irdr)
        for (term, row), (rate, gap) in irdr.items():
            w[term][row] = beta_w**gap * w[term][row] + (1 - beta_w**gap) * rate / mean
    return w


@pytest.mark.parametrize("seed", range(3))
def test_brdr_is_the_published_recursion_in_any_order_of_visits(seed):
    rng = np.random.default_rng(seed)
    rows, batch, beta_c, beta_w = (
        {"residual": 20, "initial": 5},
        {"residual": 3, "initial": 2},
        0.9,
        0.8,
    )
    weighting = make("brdr", beta_c=beta_c, beta_w=beta_w, factor=False)
    state, visits, seen = weighting.init(rows), [], {k: set() for k in rows}
    for _ in range(8):
        chosen = {k: rng.choice(n, batch[k], replace=False) for k, n in rows.items()}
        found = {k: rng.normal(size=batch[k]) for k in rows}
        visits.append({k: list(zip(chosen[k], found[k], strict=True)) for k in rows})
        residuals = {k: jnp.asarray(r)[:, None, None] for k, r in found.items()}
        table = {k: jnp.asarray(c)[:, None, None] for k, c in chosen.items()}
        weights, state = update(weighting, state, residuals, rows=table)
        expected = by_hand(visits, rows, beta_c, beta_w, batch)
        for k in rows:
            seen[k] |= set(chosen[k].tolist())
            np.testing.assert_allclose(state.w[k], expected[k], rtol=1e-12)
            np.testing.assert_allclose(weights[k].ravel(), np.array(expected[k])[chosen[k]])
    for k, n in rows.items():
        never = [i for i in range(n) if i not in seen[k]]
        np.testing.assert_array_equal(state.w[k][jnp.array(never, int)], 1.0)


def test_brdr_at_a_first_visit_counts_every_row_alike():
    # irdr = r² / √(r⁴) = 1 wherever it is, so all weights stay 1.
    weighting = make("brdr", factor=False)
    residuals = {"residual": jnp.array([1e-3, 1.0, 50.0])}
    weights, _ = update(weighting, weighting.init({"residual": 9}), residuals)
    np.testing.assert_allclose(weights["residual"], 1.0, rtol=1e-9)


def test_brdr_counts_terms_by_the_share_of_their_table_in_the_batch():
    weighting = make("brdr")
    residuals = {"residual": jnp.ones(2), "initial": jnp.ones(2)}
    weights, _ = update(weighting, weighting.init({"residual": 200, "initial": 4}), residuals)
    np.testing.assert_allclose(weights["residual"], 2 / 200)
    np.testing.assert_allclose(weights["initial"], 2 / 4)


def test_brdr_gives_more_weight_to_what_decays_more_slowly():
    weighting = make("brdr", beta_c=0.9, beta_w=0.9)
    state = weighting.init({"residual": 2})
    for n in range(30):
        residuals = {"residual": jnp.array([0.5**n, 0.9**n])}
        weights, state = update(weighting, state, residuals)
    assert weights["residual"][1] > 1.5 * weights["residual"][0]


def test_brdr_refuses_points_that_are_drawn_anew():
    with pytest.raises(
        pio.PioError, match=r"points of initial are drawn anew.*--weighting balanced"
    ):
        make("brdr").init({"residual": 100, "initial": 0})


# ---------------------------------------------------------------------------------------------
# The others


def test_balanced_weights_make_gradients_equally_large():
    weighting = make("balanced", cadence=2, memory=0.5)
    residuals = {"residual": jnp.ones(2), "initial": jnp.ones(2)}
    norms = {"residual": jnp.array(30.0), "initial": jnp.array(10.0)}
    weights, state = update(weighting, weighting.init(ROWS), residuals, norms=norms)
    np.testing.assert_allclose(weights["residual"] * 30.0, weights["initial"] * 10.0)
    other = {"residual": jnp.array(1.0), "initial": jnp.array(1.0)}
    held, state = update(weighting, state, residuals, step=1, norms=other)
    np.testing.assert_allclose(held["residual"], weights["residual"])
    moved, _ = update(weighting, state, residuals, step=2, norms=other)
    np.testing.assert_allclose(moved["residual"], (weights["residual"] + 1.0) / 2)


def test_causal_weights_are_those_of_the_residuals_before():
    weighting = make("causal", parts=2, epsilon=3.0, condition=7.0)
    residuals = {"residual": jnp.array([0.5, 0.5, 1.0, 1.0]), "initial": jnp.ones(2)}
    weights, _ = update(weighting, weighting.init({}), residuals)
    late = np.exp(-3.0 * 0.25)
    np.testing.assert_allclose(weights["residual"], [1.0, 1.0, late, late])
    assert weights["initial"].item() == 7.0


def test_causality_grows_strict_once_all_of_the_time_is_resolved():
    weighting = make("causal")
    state = weighting.init({})
    for small in (True, False):
        residuals = {"residual": jnp.full(32, 1e-6 if small else 10.0)}
        _, after = update(weighting, state, residuals)
        assert (after.epsilon > state.epsilon) == small


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fixed", {"initial": 0.0}, "weights > 0 \\(got initial = 0.0\\)"),
        ("fixed", {"residual": float("nan")}, "weights > 0"),
        ("ck", {"cadence": 0}, "'ck' needs .* a cadence of at least 1"),
        ("ntk", {"exponent": 2.0}, "'ntk' needs an exponent from 0 to 1"),
        ("brdr", {"beta_c": 1.0}, "between 0 and 1"),
        ("balanced", {"memory": 1.0}, "a memory from 0 to below 1"),
        ("causal", {"parts": 1}, "at least two parts"),
    ],
)
def test_impossible_options_get_one_clear_message(name, options, message):
    with pytest.raises(pio.PioError, match=message):
        make(name, **options)


def test_a_need_that_nobody_meets_is_refused():
    class Odd:
        needs = frozenset({"norm"})

        def init(self, rows): ...
        def update(self, state, residuals, **given): ...

    m = pio.compose(REGISTRY, "burgers", "vanilla", "none")
    with pytest.raises(pio.PioError, match=r"Odd needs 'norm'.*did you mean 'norms'"):
        pio.check(m, Odd(), {})
