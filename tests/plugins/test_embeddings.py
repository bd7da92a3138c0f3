"""Embeddings replace coordinates wherever a subnetwork reads all of a group."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio
import pio.testing

REGISTRY = pio.discover()
LINE = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))
CIRCLE = pio.Domain(pio.Coordinate("x", 1.0, 3.0, periodic=True), pio.Coordinate("t"))


def make(name, **options):
    return REGISTRY.make("embedding", name, options)


def embed(embedding, domain, group, **point):
    return embedding.embed(domain, group, *(jnp.asarray(point[c]) for c in group))


def test_fourier_is_the_harmonics_of_periodic_coordinates():
    embedding = make("fourier", order=3)
    assert embedding.groups(CIRCLE) == (("x",),)
    x = np.linspace(1.0, 3.0, 5)
    k = np.pi * np.arange(1, 4)  # 2π/L
    expected = np.concatenate([np.cos(np.outer(x - 1, k)), np.sin(np.outer(x - 1, k))], 1)
    np.testing.assert_allclose(embed(embedding, CIRCLE, ("x",), x=x), expected, atol=1e-14)


BOX = pio.Domain(pio.Coordinate("x", 1.0, 3.0), pio.Coordinate("y"), pio.Coordinate("t"))


@pytest.mark.parametrize("bits", [32, 64])
def test_cosines_are_flat_at_both_ends_to_rounding(bits):
    embedding = make("cosine", order=5)
    with jax.enable_x64(bits == 64):
        ends = jnp.array([1.0, 3.0])
        for odd in (1, 3):
            slope = lambda x: embedding.embed(BOX, ("x",), x)  # noqa: E731
            for _ in range(odd):
                slope = jax.jacfwd(slope)
            size = (np.pi * np.arange(1, 6) / 2) ** odd  # of the derivative between the ends
            bound = 10 * 5 * np.finfo(f"float{bits}").eps
            assert np.abs(jax.vmap(slope)(ends) / size).max() < bound


def test_cosines_are_for_space_but_not_where_it_is_periodic():
    assert make("cosine").groups(LINE) == (("x",),)
    assert make("cosine").groups(BOX) == (("x",), ("y",))
    assert make("cosine", along="y").groups(BOX) == (("y",),)
    with pytest.raises(
        pio.PioError, match=r"which this equation has not \(x, t\); use --embedding"
    ):
        make("cosine").groups(CIRCLE)
    with pytest.raises(pio.PioError, match="'z' is none of this equation"):
        make("cosine", along="z").groups(BOX)
    with pytest.raises(pio.PioError, match="at least"):
        make("cosine", order=0)


def test_random_fourier_pairs_share_a_phase():
    embedding = make("random-fourier")
    assert embedding.groups(LINE) == (("x", "t"),)
    x, t = np.random.default_rng(0).uniform(size=(2, 7))
    features = embed(embedding, LINE, ("x", "t"), x=x, t=t)
    assert features.shape == (7, 300)
    cos, sin = np.split(features, 2, axis=1)
    np.testing.assert_allclose(cos**2 + sin**2, 1.0, rtol=1e-12)


def test_random_frequencies_have_the_scale_asked_for():
    # At the origin, the derivative of a pair's angle by a coordinate is its frequency.
    embedding = make("random-fourier", features=4000, scale=5.0, seed=3)

    def angle(point):
        cos, sin = jnp.split(embed(embedding, LINE, ("x", "t"), x=point[0], t=point[1]), 2)
        return jnp.arctan2(sin, cos)

    omega = jax.jacfwd(angle)(jnp.array([0.0, 0.0]))
    np.testing.assert_allclose(omega.std(0), 5.0, rtol=0.05)
    assert abs(np.corrcoef(omega.T)[0, 1]) < 0.05
    phases = np.sort(np.asarray(angle(jnp.zeros(2)))) / (2 * np.pi) + 0.5
    assert np.abs(phases - np.linspace(0, 1, 4000)).max() < 0.03  # uniform


def test_random_frequencies_are_a_function_of_the_seed_alone():
    one, same, other = (make("random-fourier", seed=s) for s in (1, 1, 2))
    at = {"x": 0.3, "t": 0.4}
    a, b, c = (embed(e, LINE, ("x", "t"), **at) for e in (one, same, other))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 0.1
    with jax.enable_x64(False):
        single = embed(one, LINE, ("x", "t"), **at)
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(a, single, atol=1e-5)


def test_random_features_are_no_parameters():
    with_features, without = (
        pio.compose(REGISTRY, "diffusion-reaction", "vanilla", name)
        for name in ("random-fourier", "none")
    )
    sizes = [
        sum(p.size for p in jax.tree.leaves(jax.eval_shape(m.init, jax.random.key(0))))
        for m in (with_features, without)
    ]
    assert sizes[0] - sizes[1] == (300 - 2) * 100


def test_a_subnetwork_that_reads_only_some_of_a_group_gets_them_as_they_are():
    m = pio.compose(REGISTRY, "diffusion-reaction", "bxtl", "random-fourier")
    assert m.plan["branch"].names == ("u", "x")
    assert m.plan["trunk"].names == ("φ(x,t)", "u(x)")


def test_the_branch_reads_an_embedded_place_too():
    m = pio.compose(REGISTRY, "burgers", "bxtg", "fourier")
    assert m.plan["branch"].names == ("u", "φ(x)")
    assert m.plan["trunk"].names == ("t", "φ(x)", "u")


@pytest.mark.parametrize(
    "options", [{"features": 0}, {"scale": 0.0}, {"scale": float("nan")}, {"seed": -1}]
)
def test_impossible_draws_are_refused(options):
    with pytest.raises(pio.PioError, match="at least one frequency, a scale > 0 and a seed ≥ 0"):
        make("random-fourier", **options)


# One test a check: groups of coordinates, aligned channels, smoothness, and so on.
for _name, _options in {
    "fourier": {"order": 2},
    "cosine": {"order": 2},
    "random-fourier": {"features": 3},
    "none": {},
}.items():
    globals()[f"test_{_name}"] = pio.testing.suite("embedding", _name, **_options)


def test_all_of_ours_are_checked():
    assert {f"test_{name}" for name in REGISTRY.of("embedding")} <= set(globals())
