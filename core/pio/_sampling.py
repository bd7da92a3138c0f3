"""Batches, drawn on the device as a function of the step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from pio._batch import Batch
from pio._equation import Equation
from pio._errors import PioError
from pio._labels import Labels
from pio._loss import DATA, Term, data_names
from pio._recipe import Blocks, Tables
from pio._space import draw

# What a seed is used for; each use has a stream of its own. The test set's is in _solutions.
PARAMETERS, FUNCTIONS, BATCHES, POINTS = range(4)

# Measurements in a step, unless told.
MEASUREMENTS = 1024

Batches = Mapping[str, Batch]
Rows = Mapping[str, Int[Array, "..."]]


def stream(seed: int, use: int) -> PRNGKeyArray:
    """The key of one use of a seed."""
    return jax.random.fold_in(jax.random.key(seed), use)


class Source(NamedTuple):
    """What batches are drawn from: keys, and the functions to train on unless they are fresh.

    It is an argument of the compiled program and no constant in it, so that one program serves all seeds.
    """

    batches: PRNGKeyArray
    points: PRNGKeyArray
    u: Float[Array, "f sensors"] | None
    labels: Any = None


@dataclass(frozen=True)
class Sampler:
    """One batch per term of the loss, from the seed and the step alone.

    `functions` says how many to train on; none draws fresh ones every step. `labels`, if there are any, are
    the term `data`, of which a step takes `batch`, or at most a thousand or so if it is not told. A batch is
    kept for `hold` steps, for optimizers that compare one step with the next.
    """

    equation: Equation
    terms: Mapping[str, Term]
    sampling: Tables | Blocks
    functions: int | None
    dtype: Any = jnp.float32
    labels: Labels | None = None
    batch: int | None = None
    hold: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.sampling, Tables):
            if self.functions is None:
                raise PioError(
                    "tables hold points of functions that stay; set train.train_functions to a number, "
                    "or sampling.kind to blocks."
                )
            if (most := max(self.rows.values())) >= 2**31:
                raise PioError(f"a table of {most:.2g} rows is too long; take fewer points.")
        else:
            missing = [n for n in self.equation.domain.names if n not in self.sampling.points]
            if missing:
                raise PioError(f"sampling.points lacks {' and '.join(missing)}.")
            if self.functions is not None and self.sampling.functions > self.functions:
                raise PioError(
                    f"a batch of {self.sampling.functions} functions needs as many to train on "
                    f"(train.train_functions is {self.functions})."
                )

    def source(self, seed: int) -> Source:
        """What a seed stands for. It has the same functions in either precision."""
        u = None
        if self.functions is not None:
            drawn = draw(self.equation.inputs, stream(seed, FUNCTIONS), self.functions)
            u = jnp.asarray(drawn, self.dtype)
        labels = jax.tree.map(
            lambda a: jnp.asarray(a, self.dtype if a.dtype.kind == "f" else a.dtype), self.labels
        )
        return Source(stream(seed, BATCHES), stream(seed, POINTS), u, labels)

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """How many rows each term's table has; 0 where points are drawn afresh."""
        measured = {} if self.labels is None else {DATA: len(self.labels.function)}
        if isinstance(self.sampling, Blocks):
            return dict.fromkeys(self.terms, 0) | measured
        return {n: (self.functions or 0) * t.points for n, t in self.tables.items()} | measured

    @cached_property
    def points(self) -> int:
        """Points visited in one step, all terms together."""
        if isinstance(self.sampling, Tables):
            return self.sampling.batch * len(self.terms) + self._measurements
        counts = self.sampling.points
        return self._measurements + self.sampling.functions * sum(
            math.prod(n for name, n in counts.items() if name not in term.at)
            for term in self.terms.values()
        )

    def draw(self, source: Source, step: Int[Array, ""] | int) -> tuple[Batches, Rows | None]:
        """The batches of a step, and which rows of their tables they are."""
        key = jax.random.fold_in(source.batches, step // self.hold)
        batches, rows = self._physics(source, key)
        if source.labels is None:
            return batches, rows
        batch, row = self._labelled(source.labels, jax.random.fold_in(key, len(self.terms)))
        return {**batches, DATA: batch}, {**(rows or {}), DATA: row.reshape(batch.shape)}

    @property
    def _measurements(self) -> int:
        """Measurements in one step."""
        if self.labels is None:
            return 0
        return min(len(self.labels.function), self.batch or MEASUREMENTS)

    def _labelled(self, labels: Labels, key: PRNGKeyArray) -> tuple[Batch, Int[Array, " batch"]]:
        n, batch = len(labels.function), self._measurements
        row = jnp.arange(n, dtype=jnp.int32)
        if batch < n:
            # One of each of `batch` parts of a circle that is cut at a random place: all different, all
            # equally likely, from all over the file, and no permutation of millions.
            ends = jnp.asarray(np.arange(batch + 1) * n // batch, jnp.int32)
            own, turn = jax.random.split(key)
            row = jax.random.randint(own, (batch,), ends[:-1], ends[1:], jnp.int32)
            row = (row + jax.random.randint(turn, (), 0, n, jnp.int32)) % n
        u, points, values = labels.u[labels.function[row]], labels.points, labels.values
        found = Batch.pairs(u, **{name: p[row] for name, p in points.items()})
        names = data_names(tuple(values))
        targets = {names[k]: jnp.reshape(v[row], found.shape) for k, v in values.items()}
        return dataclasses.replace(found, targets=targets), row

    def _physics(self, source: Source, key: PRNGKeyArray) -> tuple[dict[str, Batch], Rows | None]:
        if isinstance(self.sampling, Blocks):
            return dict.fromkeys(self.terms, self._block(self.sampling, source, key)), None
        assert source.u is not None
        batches, rows = {}, {}
        for k, (name, table) in enumerate(self.tables.items()):
            # With replacement: of millions of rows, a batch rarely has one twice.
            row = jax.random.randint(
                jax.random.fold_in(key, k), (self.sampling.batch,), 0, self.rows[name], jnp.int32
            )
            batches[name] = table.take(jax.random.fold_in(source.points, k), source.u, row)
            rows[name] = row.reshape(batches[name].shape)
        return batches, rows

    def _block(self, blocks: Blocks, source: Source, key: PRNGKeyArray) -> Batch:
        uses = 1 + len(self.equation.domain.names)
        which, *where = jax.random.split(key, uses)
        if blocks.fixed:
            _, *where = jax.random.split(source.points, uses)
        if (u := source.u) is None:
            drawn = self.equation.inputs.sample(which, blocks.functions).astype(self.dtype)
        else:
            drawn = u[jax.random.choice(which, len(u), (blocks.functions,), replace=False)]
        if blocks.stretch != 1:
            shape = (len(drawn), *(1,) * (drawn.ndim - 1))
            share = jax.random.uniform(jax.random.fold_in(which, 1), shape, self.dtype)
            drawn = drawn * (1 + (blocks.stretch - 1) * share)
        points = {
            c.name: c.low + c.length * self._spread(own, blocks.points[c.name])
            for own, c in zip(where, self.equation.domain.coordinates, strict=True)
        }
        return Batch.block(drawn, **points)

    def _spread(self, key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
        """A random number in each of n cells of [0, 1]: a sum over them varies less than over n at large."""
        return (jnp.arange(n, dtype=self.dtype) + jax.random.uniform(key, (n,), self.dtype)) / n

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        assert isinstance(self.sampling, Tables)
        return {name: self._table(term, self.sampling) for name, term in self.terms.items()}

    def _table(self, term: Term, tables: Tables) -> Table:
        domain = self.equation.domain
        free = tuple(name for name in domain.names if name not in term.at)
        if not term.at:
            given = tables.residual
            places = {name: tables.placement.get(name, "random") for name in free}
            lengths = dict(given) if isinstance(given, Mapping) else None
            points = given if isinstance(given, int) else math.prod(given.values())
        else:
            if term.name not in tables.conditions:
                raise PioError(
                    f"condition {term.name!r} has no points, and nothing else makes it hold; set "
                    f"sampling.conditions.{term.name}, or take hard constraints or an embedding that "
                    "meets it."
                )
            points = tables.conditions[term.name]
            places = dict.fromkeys(free, tables.placement.get(term.name, "random"))
            side = round(points ** (1 / max(len(free), 1)))
            lengths = dict.fromkeys(free, side) if side ** len(free) == points else None
        on_grid = [name for name in free if places[name] == "grid"]
        if on_grid and (lengths is None or any(name not in lengths for name in free)):
            raise PioError(
                f"points of {term.name!r} lie on a grid in {', '.join(on_grid)}, so their number is "
                f"one per coordinate, as in x = 257, t = 101 (got {points})."
            )
        sensors = np.asarray(self.equation.inputs.sensors)
        for name in free:
            if places[name] == "sensors" and self.equation.inputs.coordinates != (name,):
                raise PioError(f"there are no sensors along {name}; place it at random.")
        axes = tuple(_Axis(c.name, c.low, c.high, places.get(c.name)) for c in domain.coordinates)
        return Table(points, axes, lengths or {}, sensors, self.dtype)


@dataclass(frozen=True)
class _Axis:
    """A coordinate of a table; `place` is none where the term's face fixes it."""

    name: str
    low: float
    high: float
    place: Literal["random", "sensors", "grid"] | None


@dataclass(frozen=True, eq=False)
class Table:
    """Frozen pairs of a function and a point, of which row r is function r // points.

    Nothing is stored: the coordinates of a row are drawn from the row's number, so a row has the same ones
    whenever it is taken.
    """

    points: int
    axes: tuple[_Axis, ...]
    lengths: Mapping[str, int]
    sensors: np.ndarray
    dtype: Any

    def take(
        self, key: PRNGKeyArray, u: Float[Array, "f sensors"], rows: Int[Array, " batch"]
    ) -> Batch:
        chance = jax.vmap(
            lambda row: jax.random.uniform(
                jax.random.fold_in(key, row), (len(self.axes),), self.dtype
            )
        )(rows)
        index = rows % self.points
        points: dict[str, Array] = {}
        # The last coordinate runs fastest.
        for k, axis in reversed(list(enumerate(self.axes))):
            if axis.place == "grid":
                n = self.lengths[axis.name]
                nodes = jnp.asarray(np.linspace(axis.low, axis.high, n), self.dtype)
                points[axis.name] = nodes[index % n]
            elif axis.place == "sensors":
                sensors = jnp.asarray(self.sensors, self.dtype)
                which = (chance[:, k] * len(sensors)).astype(rows.dtype)
                points[axis.name] = sensors[jnp.minimum(which, len(sensors) - 1)]
            elif axis.place == "random":
                points[axis.name] = axis.low + (axis.high - axis.low) * chance[:, k]
            else:
                points[axis.name] = jnp.full(rows.shape, axis.low, self.dtype)
            index = index // self.lengths.get(axis.name, 1)
        return Batch.pairs(u[rows // self.points], **{a.name: points[a.name] for a in self.axes})
