"""Slices: a sum over a batch, computed a part at a time.

The parameter gradient of a sum is the sum of its parts' gradients, so a loss never needs more memory than
one slice of the batch does; and a slice that fits a processor's cache is also faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pio._batch import Batch

# Bytes of one coefficient of one hidden layer in a slice: near a processor's second-level cache;
# elsewhere large enough to keep an accelerator busy.
CACHE = {"cpu": 2**20}
ELSEWHERE = 2**28


def row_limit(width: int, dtype: Any) -> int:
    """How many rows of a network of this width a slice has by default."""
    size = CACHE.get(jax.default_backend(), ELSEWHERE)
    return max(1, int(size // (width * jnp.dtype(dtype).itemsize)))


def lengths(batch: Batch, visited: Sequence[tuple[int, ...]], rows: int) -> tuple[int, ...]:
    """How long a slice is along each axis, for no subnetwork to visit more than so many rows.

    `visited` are the aligned shapes that the subnetworks run over. Axes are halved where that helps
    most, functions first. A network over points that all functions share gains nothing from fewer
    functions, and is not cut along them until the outputs themselves, which have one channel
    instead of dozens, are too many.
    """
    size = list(batch.shape)

    def visits(trial: list[int]) -> int:
        counts = [math.prod(min(n, m) for n, m in zip(trial, v, strict=True)) for v in visited]
        return max(*counts, math.prod(trial) // 64, 1)

    while visits(size) > rows and any(n > 1 for n in size):
        halved = [
            [-(-n // 2) if k == axis else n for k, n in enumerate(size)]
            for axis in range(len(size))
        ]
        # The first of equals: functions, then places, then times.
        size = min((h for h in halved if h != size), key=visits)
    return tuple(size)


def in_slices(fun: Callable[..., Any], size: tuple[int, ...], batch: Batch, *aligned: Any) -> Any:
    """`fun(batch, *aligned)` for an elementwise `fun`: aligned arrays out, put together from slices."""
    cut = _Cut(size, batch.shape)
    if cut.count == 1:
        return fun(batch, *aligned)
    _, parts = jax.lax.scan(
        lambda _, k: (None, fun(*cut.take(k, batch, *aligned))), None, jnp.arange(cut.count)
    )
    return jax.tree.map(cut.join, parts)


def value_and_grad_in_slices(
    fun: Callable[..., tuple[Array, Any]],
    size: tuple[int, ...],
    params: Any,
    batch: Batch,
    *aligned: Any,
) -> tuple[tuple[Array, Any], Any]:
    """The value and gradient of a sum over the batch, and what else it finds at each point.

    `fun(params, batch, present, *aligned)` returns a sum over points, each multiplied by `present` (one, or
    zero where a slice reaches past the end of the batch), and a pytree of aligned arrays.
    """
    cut = _Cut(size, batch.shape)
    grad = jax.value_and_grad(fun, has_aux=True)
    if cut.count == 1:
        return grad(params, batch, jnp.ones((), batch.u.dtype), *aligned)

    def add(total: Any, k: Array) -> tuple[Any, Any]:
        part, *rest = cut.take(k, batch, *aligned)
        (value, found), slope = grad(params, part, cut.present(k, batch.u.dtype), *rest)
        return jax.tree.map(jnp.add, total, (value, slope)), found

    zero = (jnp.zeros((), batch.u.dtype), jax.tree.map(jnp.zeros_like, params))
    (value, slope), parts = jax.lax.scan(add, zero, jnp.arange(cut.count))
    return (value, jax.tree.map(cut.join, parts)), slope


class _Cut:
    """A batch of some shape, cut into equal parts of some size, the last of each axis padded."""

    def __init__(self, size: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.parts = tuple(-(-n // m) for n, m in zip(shape, size, strict=True))
        # Equal parts, as short as their number allows: 100 in parts of 64 is 50 + 50.
        self.size = tuple(-(-n // k) for n, k in zip(shape, self.parts, strict=True))
        self.count = math.prod(self.parts)

    def starts(self, k: Array) -> list[Array]:
        return [i * m for i, m in zip(jnp.unravel_index(k, self.parts), self.size, strict=True)]

    def take(self, k: Array, batch: Batch, *aligned: Any) -> tuple[Any, ...]:
        start = self.starts(k)

        def one(array: Array) -> Array:
            return self._take(array, start, range(min(array.ndim, len(self.shape))))

        u = self._take(batch.u, start, range(1))
        points, targets = jax.tree.map(one, (dict(batch.points), dict(batch.targets)))
        return Batch(u, points, targets), *jax.tree.map(one, aligned)

    def _take(self, array: Array, start: list[Array], axes: range) -> Array:
        for axis in axes:
            m, n = self.size[axis], self.shape[axis]
            if array.shape[axis] == 1 or m == n:
                continue
            missing = m * self.parts[axis] - n
            if missing:
                width = [(0, missing if a == axis else 0) for a in range(array.ndim)]
                array = jnp.pad(array, width, mode="edge")
            array = jax.lax.dynamic_slice_in_dim(array, start[axis], m, axis)
        return array

    def present(self, k: Array, dtype: Any) -> Array:
        """One at points of the batch, zero in the padding."""
        inside = jnp.ones((1,) * len(self.shape), dtype)
        for axis, (s, m, n) in enumerate(zip(self.starts(k), self.size, self.shape, strict=True)):
            if m * self.parts[axis] != n:
                here = (s + jnp.arange(m) < n).astype(dtype)
                inside = inside * here.reshape(
                    [-1 if a == axis else 1 for a in range(len(self.shape))]
                )
        return inside

    def join(self, parts: Array) -> Array:
        """Aligned arrays of all parts, one after another, as one array without the padding."""
        ndim = len(self.shape)
        own = parts.shape[1:]
        blocks = parts.reshape(*self.parts, *own)
        # An axis of length one in a slice does not vary within it; it is stretched to the slice's length.
        wide = (*self.parts, *self.size, *own[ndim:])
        blocks = jnp.broadcast_to(blocks, wide)
        order = [a for k in range(ndim) for a in (k, ndim + k)]
        rest = list(range(2 * ndim, blocks.ndim))
        whole = blocks.transpose(*order, *rest).reshape(
            *(k * m for k, m in zip(self.parts, self.size, strict=True)), *own[ndim:]
        )
        return whole[tuple(slice(0, n) for n in self.shape)]
