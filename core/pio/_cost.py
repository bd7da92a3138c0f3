"""What a program costs, counted before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex

from pio._batch import Batch
from pio._model import Model


def multiplications(fun: Callable[..., Any], *args: Any) -> int:
    """How many multiplications the matrix products of `fun(*args)` take.

    They are counted in the traced program; nothing is compiled or run. The bodies of loops count
    once, those of branches all.
    """
    return sum(map(_size, _products(jax.make_jaxpr(fun)(*args).jaxpr)))


def _products(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "dot_general":
            yield eqn
        for value in jax.tree.leaves(
            eqn.params, is_leaf=lambda v: isinstance(v, jex.ClosedJaxpr | jex.Jaxpr)
        ):
            if isinstance(value, jex.ClosedJaxpr):
                yield from _products(value.jaxpr)
            elif isinstance(value, jex.Jaxpr):
                yield from _products(value)


def _size(eqn: Any) -> int:
    (contract, _), _ = eqn.params["dimension_numbers"]
    out, a = (v.aval.shape for v in (eqn.outvars[0], eqn.invars[0]))
    return math.prod(map(int, out)) * math.prod(int(a[i]) for i in contract)


def count(params: Any) -> int:
    """How many numbers there are in a pytree of parameters, or of their shapes."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(params))


def residual_cost(model: Model, layout: str, lengths: tuple[int, ...]) -> int:
    """Multiplications of one residual at a `block` of functions × places × …, or at as many `pairs`."""
    names = model.equation.domain.names
    sensors = len(model.equation.inputs.sensors)
    functions, *points = lengths if layout == "block" else [math.prod(lengths)]
    shapes = points if layout == "block" else [functions] * len(names)
    make = Batch.block if layout == "block" else Batch.pairs

    def residual(params: Any, u: Any, *points: Any) -> Any:
        return model.residual(params, make(u, **dict(zip(names, points, strict=True))))

    params = jax.eval_shape(model.init, jax.random.key(0))
    arrays = [jnp.zeros((functions, sensors)), *(jnp.zeros(n) for n in shapes)]
    return multiplications(
        residual, params, *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays)
    )
