"""Batches are functions of the seed and the step."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pio
from pio import Blocks, Tables
from pio._loss import terms
from pio._sampling import Source

REGISTRY = pio.discover()
GRID = Tables(
    batch=64,
    residual={"x": 5, "t": 3},
    conditions={"initial": 7},
    placement={"x": "grid", "t": "grid", "initial": "grid"},
)
RANDOM = Tables(batch=64, residual=9, conditions={"initial": 7})


def sampler(
    sampling: Any, functions: int | None = 6, equation: str = "kdv", dtype: Any = jnp.float64
) -> pio.Sampler:
    problem = REGISTRY.make("equation", equation)
    embedding = REGISTRY.make("embedding", "fourier" if problem.domain.periodic else "none")
    model = pio.Model(problem, REGISTRY.make("architecture", "vanilla"), embedding)
    named = {term.name: term for term in terms(model)}
    return pio.Sampler(problem, named, sampling, functions, dtype)


def drawn(sampler: pio.Sampler, step: int = 0, seed: int = 0) -> Any:
    return sampler.draw(sampler.source(seed), step)


SAMPLINGS = {
    "fresh": (Blocks(3, {"x": 4, "t": 5}), None),
    "fixed": (Blocks(3, {"x": 4, "t": 5}), 6),
    "grid": (GRID, 6),
    "random": (RANDOM, 6),
}


@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_batch_depends_on_the_seed_and_the_step_alone(name: str) -> None:
    s = sampler(*SAMPLINGS[name])
    same, again, later, other = (
        jax.tree.leaves(drawn(s, *at)) for at in [(3, 0), (3, 0), (4, 0), (3, 1)]
    )
    assert all(map(np.array_equal, same, again))
    assert not all(map(np.array_equal, same, later))
    assert not all(map(np.array_equal, same, other))


def test_a_batch_is_kept_for_as_many_steps_as_it_is_held() -> None:
    s = dataclasses.replace(sampler(*SAMPLINGS["fresh"]), hold=3)
    first, last, after = (jax.tree.leaves(drawn(s, step)) for step in (3, 5, 6))
    assert all(map(np.array_equal, first, last))
    assert not all(map(np.array_equal, first, after))


def test_fixed_points_stay_while_functions_change() -> None:
    s = sampler(Blocks(3, {"x": 4, "t": 5}, fixed=True), None)
    (first, _), (later, _), (other, _) = (drawn(s, *at) for at in [(0, 0), (1, 0), (0, 1)])
    for name in ("x", "t"):
        points = [batch["residual"].points[name] for batch in (first, later, other)]
        np.testing.assert_array_equal(points[0], points[1])
        assert not np.array_equal(points[0], points[2])
    assert not np.array_equal(first["residual"].u, later["residual"].u)


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_points_lie_in_the_domain_in_the_precision_asked_for(name: str, dtype: Any) -> None:
    sampling, functions = SAMPLINGS[name]
    s = sampler(sampling, functions, dtype=dtype)
    for batch in drawn(s)[0].values():
        assert batch.u.dtype == dtype
        for coordinate in s.equation.domain.coordinates:
            p = batch.points[coordinate.name]
            assert p.dtype == dtype
            assert (p >= coordinate.low).all()
            assert (p <= dtype(coordinate.high)).all()


def test_a_block_has_one_point_in_each_cell() -> None:
    batch = drawn(sampler(Blocks(3, {"x": 4, "t": 5})))[0]["residual"]
    assert batch.shape == (3, 4, 5)
    assert np.array_equal(np.floor(batch.points["t"].ravel() * 5), np.arange(5))


def test_a_fixed_set_is_the_same_in_either_precision_and_every_batch_is_of_it() -> None:
    s = sampler(Blocks(3, {"x": 4, "t": 5}))
    u = np.asarray(s.source(0).u)
    half = sampler(Blocks(3, {"x": 4, "t": 5}), dtype=jnp.float32)
    assert np.allclose(u, half.source(0).u, atol=1e-6)
    for row in drawn(s, 5)[0]["residual"].u:
        assert (u == np.asarray(row)).all(1).sum() == 1


def test_a_row_of_a_table_never_changes() -> None:
    s = sampler(RANDOM)
    seen: dict[int, Any] = {}
    for step in range(12):
        batches, rows = drawn(s, step)
        points = np.stack([np.ravel(batches["residual"].points[n]) for n in ("x", "t")], 1)
        for row, u, point in zip(
            np.ravel(rows["residual"]), batches["residual"].u, points, strict=True
        ):
            found = (float(u[0]), *point)
            assert seen.setdefault(int(row), found) == found
    assert len(seen) == 6 * 9  # every row was visited
    assert len(set(seen.values())) == 6 * 9


def test_rows_of_a_grid_are_the_grid_of_each_function() -> None:
    s = sampler(GRID)
    u = jnp.arange(6.0)[:, None]
    rows = jnp.arange(s.rows["residual"], dtype=jnp.int32)
    batch = s.tables["residual"].take(jax.random.key(0), u, rows)
    x, t = (np.ravel(batch.points[n]).reshape(6, 5, 3) for n in ("x", "t"))
    assert np.array_equal(np.ravel(batch.u).reshape(6, 15), np.arange(6.0)[:, None].repeat(15, 1))
    assert np.allclose(x, np.linspace(0, 2 * np.pi, 5)[:, None].repeat(3, 1))
    assert np.allclose(t, np.linspace(0, 1, 3))


def test_points_may_lie_on_the_sensors() -> None:
    tables = Tables(64, 10, {"initial": 5, "left": 5, "right": 5}, {"x": "sensors"})
    s = sampler(tables, equation="diffusion-reaction")
    x = drawn(s)[0]["residual"].points["x"]
    assert np.isin(np.asarray(x), s.equation.inputs.sensors).all()


def test_rows_are_aligned_with_residuals() -> None:
    batches, rows = drawn(sampler(GRID))
    assert {n: r.shape for n, r in rows.items()} == {n: b.shape for n, b in batches.items()}


def test_one_program_serves_all_seeds() -> None:
    s = sampler(Blocks(3, {"x": 4, "t": 5}), None)
    traced = []

    @jax.jit
    def u(source: Source) -> Any:
        traced.append(1)
        return s.draw(source, 0)[0]["residual"].u

    assert not np.array_equal(u(s.source(0)), u(s.source(1)))
    assert len(traced) == 1


WRONG = {
    "fresh functions in tables": (GRID, None, "train.train_functions"),
    "no points for a condition": (Tables(4, 9), 6, "sampling.conditions.initial"),
    "a grid without sides": (Tables(4, 9, {"initial": 5}, {"x": "grid"}), 6, "one per coordinate"),
    "sensors in time": (Tables(4, 9, {"initial": 5}, {"t": "sensors"}), 6, "no sensors along t"),
    "a coordinate short": (Blocks(2, {"x": 4}), None, "lacks t"),
    "more functions than there are": (Blocks(9, {"x": 4, "t": 4}), 6, "9 functions"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_drawn_is_refused(case: str) -> None:
    sampling, functions, message = WRONG[case]
    with pytest.raises(pio.PioError, match=message):
        sampler(sampling, functions)
