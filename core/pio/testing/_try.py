"""Equations to try plugins with, functions to try them on, and batches in two layouts of the same points."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pio._batch import Batch
from pio._equation import Equation
from pio._model import Model
from pio._space import draw


def functions(equation: Equation, count: int = 3) -> np.ndarray:
    """Some u, in double precision."""
    return draw(equation.inputs, jax.random.key(5), count)


def block(
    equation: Equation, u: Any, dtype: Any = jnp.float64, counts: tuple[int, ...] = ()
) -> Batch:
    """Every function at a few points, of a different number along each coordinate."""
    coordinates = equation.domain.coordinates
    lengths = counts or tuple(range(2, 2 + len(coordinates)))
    points = {
        c.name: jnp.asarray(c.low + c.length * (np.arange(n) + 0.4) / (n + 0.3), dtype)
        for c, n in zip(coordinates, lengths, strict=True)
    }
    return Batch.block(jnp.asarray(u, dtype), **points)


def flat(batch: Batch) -> Batch:
    """Every other point of a block as a pair of a function and a point: what mixes points finds others."""
    names = tuple(batch.points)
    each = [np.arange(len(batch.u)), *(np.ravel(batch.points[n]) for n in names)]
    rows = list(itertools.product(*each))[::2]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    points = {n: jnp.asarray(c, batch.u.dtype) for n, c in zip(names, columns[1:], strict=True)}
    return Batch.pairs(batch.u[columns[0].astype(int)], **points)


def parameters(model: Model, dtype: Any = jnp.float64, seed: int = 0) -> Any:
    """Random parameters of every size, biases too: nothing is zero as it may be at first."""
    shapes = jax.eval_shape(lambda key: model.init(key, dtype), jax.random.key(0))
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda p: jnp.asarray(rng.normal(0.0, 0.5, p.shape) / max(1, len(p.shape)), p.dtype), shapes
    )


def parts(found: Any) -> dict[str, Any]:
    """The residuals of a system by name, and of one equation by none."""
    return dict(found) if isinstance(found, dict) or hasattr(found, "keys") else {"": found}


def same_points(values: Any, pairs: Any, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Values at a block, and those at its `flat` points, side by side."""
    whole = np.broadcast_to(np.asarray(values), batch.shape).ravel()[::2]
    return whole, np.broadcast_to(np.ravel(np.asarray(pairs)), whole.shape)


def gap(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest value."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), 1e-300)
    return float(np.abs(a - b).max(initial=0.0) / scale)


def compiled(function: Callable[..., Any], **rest: Any) -> Callable[..., Any]:
    """`jax.jit` without optimisation: what is checked runs once, and compiles faster than it would run."""
    jitted: Callable[..., Any] = jax.jit(
        function, compiler_options={"xla_backend_optimization_level": 0}, **rest
    )
    return jitted
