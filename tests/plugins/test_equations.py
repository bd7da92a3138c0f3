"""What holds for every equation that is installed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio
from pio._fields import asked, evaluate, parse

REGISTRY = pio.discover()
NAMES = sorted(REGISTRY.of("equation"))


@pytest.fixture(scope="module", params=NAMES)
def equation(request):
    return REGISTRY.make("equation", request.param)


@pytest.fixture(scope="module")
def u(equation):
    return pio.draw(equation.inputs, jax.random.key(5), 3)


@pytest.fixture(scope="module")
def s(equation, u):
    return pio.solve(equation, u)


def test_every_reference_is_certified(equation):
    for name in equation.references:
        certificate = pio.certify(equation, name, functions=2)
        assert certificate.holds, certificate


def test_fields_are_spelled_in_the_letters_of_the_domain(equation):
    functions = [equation.residual, *(c.residual for c in equation.conditions())]
    for name in {n for f in functions for n in asked(f)}:
        parse(name, equation.domain, (*equation.unknowns, "u"))


def test_solutions_are_aligned_and_finite_in_double_precision(equation, s):
    assert s.shape == (3, *(len(equation.grid[n]) for n in equation.domain.names))
    assert s.dtype == np.float64
    assert np.isfinite(s).all()


def test_solutions_do_not_depend_on_the_precision_of_jax(equation, u, s):
    with jax.enable_x64(False):
        np.testing.assert_array_equal(pio.solve(equation, u), s)


def test_each_function_is_solved_as_if_alone(equation, u, s):
    np.testing.assert_allclose(pio.solve(equation, u[1]), s[1:2], rtol=1e-9, atol=1e-12)


def test_any_points_may_be_asked_for(equation, u, s):
    x, t = (equation.grid[n] for n in ("x", "t"))
    some = {"x": x[[3, 40, 77]], "t": t[[20, 90]]}
    found = pio.solve(equation, u, some)
    np.testing.assert_allclose(found, s[:, [3, 40, 77]][:, :, [20, 90]], atol=2e-5)


def test_the_reference_meets_the_conditions(equation, u):
    # One-sided differences of sixth order at periodic faces, where derivatives are compared.
    for condition in equation.conditions():
        fields = {}
        for face in filter(None, (condition.at, condition.versus)):
            (name, value), coordinate = *face.items(), equation.domain[next(iter(face))]
            inward = 1 if value == coordinate.low else -1
            near = value + inward * 3e-4 * coordinate.length * np.arange(7)
            points = {
                n: near[::inward] if n == name else equation.grid[n] for n in face | equation.grid
            }
            fields[value] = _on_face(equation, u, points, name, near, asked(condition.residual))
        parts = [np.asarray(condition.residual(**f)) for f in fields.values()]
        gap = parts[0] - parts[1] if condition.versus else parts[0]
        scale = max(1.0, *(np.abs(p).max() for p in parts))
        assert np.abs(gap).max() < 1e-5 * scale, condition.name


def _on_face(equation, u, points, name, near, names):
    """Values, and derivatives across the face, of what a condition asks for."""
    axis = equation.domain.names.index(name) + 1
    s = pio.solve(equation, u, points)
    s = s if near[1] > near[0] else np.flip(s, axis)
    powers = (near - near[0])[None, :] ** np.arange(len(near))[:, None]
    fields = {}
    for field in names:
        base, index = parse(field, equation.domain, (*equation.unknowns, "u"))
        if base == "u":
            fields[field] = pio.read(equation.inputs, u, points["x"])
        elif base in equation.domain.names:
            fields[field] = points[base]
        else:
            order = index[axis - 1]
            moments = np.eye(len(near))[order] * np.prod(np.arange(1, order + 1))
            fields[field] = np.tensordot(s, np.linalg.solve(powers, moments), (axis, 0))
    return fields


def network(key, domain):
    """A random smooth function of the coordinates, periodic where they are."""
    weights = jax.random.normal(key, (4, 2 * len(domain.names)))

    def n(point):
        turned = []
        for c in domain.coordinates:
            angle = (point[c.name] - c.low) * (2 * jnp.pi / c.length)
            turned += [jnp.cos(angle), jnp.sin(angle)] if c.periodic else [point[c.name]] * 2
        return sum(
            jnp.tanh(sum(w * z for w, z in zip(row, turned, strict=True))) for row in weights
        )

    return n


def test_the_ansatz_meets_every_condition_for_any_network(equation):
    domain, net = equation.domain, network(jax.random.key(2), equation.domain)
    u = equation.inputs.sample(jax.random.key(0), 3)[:, None, None, :]

    def solution(point):
        own = {k: f.value(u, point)[..., 0] for k, f in getattr(equation, "features", {}).items()}
        known = {**point, **own, "u": equation.inputs.at(u, point["x"]), "n": 10.0 * net(point)}
        return {
            "s": equation.ansatz(**{k: known[k] for k in asked(equation.ansatz)}),
            "u": known["u"],
        }

    inside = {
        "x": np.linspace(*_ends(domain["x"]), 7)[None, :, None],
        "t": np.linspace(0, 1, 7)[None, None, :],
    }
    for condition in equation.conditions():
        parts = []
        for face in filter(None, (condition.at, condition.versus)):
            point = {
                n: jnp.asarray(inside[n] if n not in face else np.full((1, 1, 1), face[n]))
                for n in inside
            }
            names = asked(condition.residual)
            parts.append(condition.residual(**evaluate(solution, point, domain, names, ("s", "u"))))
        gap = parts[0] - parts[1] if condition.versus else parts[0]
        assert np.abs(gap).max() < 1e-12 * max(1.0, np.abs(parts[0]).max()), condition.name


def _ends(coordinate):
    return coordinate.low, coordinate.high


def test_presets_are_recipes_that_name_what_there_is(equation):
    assert {"paper", "fast", "smoke"} <= set(equation.presets)
    conditions = {c.name for c in equation.conditions()}
    for recipe in equation.presets.values():
        assert isinstance(recipe, pio.Recipe)
        if isinstance(recipe.sampling, pio.Tables):
            assert set(recipe.sampling.conditions) <= conditions
            assert set(recipe.sampling.placement) <= conditions | set(equation.domain.names)
        else:
            assert set(recipe.sampling.points) == set(equation.domain.names)


# The columns of the published tables: functions, steps, batch, points, width, depth.
PUBLISHED = {
    "advection": (1000, 100, 300_000, 10_000, 2500, {"initial": 101, "boundary": 101}, 100, 6),
    "diffusion-reaction": (10_000, 1000, 120_000, 10_000, 100, {"initial": 101, "left": 101, "right": 101}, 50, 4),
    "burgers": (1000, 500, 200_000, 10_000, 2500, {"initial": 101}, 100, 6),
    "kdv": (500, 100, 200_000, 16_384, {"t": 101, "x": 257}, {"initial": 257}, 128, 6),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_paper_preset_is_the_published_setting(name):
    r = REGISTRY.make("equation", name).presets["paper"]
    tables = (r.sampling.batch, r.sampling.residual, r.sampling.conditions)
    size = (r.architecture["width"], r.architecture["depth"])
    assert (r.train_functions, r.test_functions, r.steps, *tables, *size) == PUBLISHED[name]
    assert (r.precision, r.constraints, r.optimizer.name) == (64, "soft", "adamw")
    assert r.weighting.name == ("brdr" if name == "advection" else "ck")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("burgers", {"nu": 0.0}, "viscosity ν > 0 \\(got nu = 0.0\\)"),
        ("burgers", {"nu": -1e-3}, "ν > 0"),
        ("burgers", {"nu": float("nan")}, "ν > 0"),
        ("kdv", {"delta": 0.0}, "dispersion δ > 0"),
        ("diffusion-reaction", {"diffusion": -1.0}, "diffusion D > 0"),
        ("advection", {"length_scale": 0.0}, "positive length scale"),
        ("kdv", {"sensors": 3}, "take more sensors"),
    ],
)
def test_impossible_options_get_one_clear_message(name, options, message):
    with pytest.raises(pio.PioError, match=message):
        REGISTRY.make("equation", name, options)
