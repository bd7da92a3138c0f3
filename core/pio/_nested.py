"""Derivatives by nested forward mode along shifts of the coordinates: slower, for any program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pio._jet import Index, Terms, closure


def nest(fun: Callable[..., Any], point: Mapping[str, Array], indices: Iterable[Index]) -> Any:
    """The Taylor coefficients of `fun(point)`, as a pytree of dicts by index.

    Indices count derivatives per coordinate, in the order of `point`.
    """
    wanted = closure(frozenset(indices))
    names = list(point)

    def shifted(z: Sequence[Array]) -> Any:
        return fun({n: point[n] + zi for n, zi in zip(names, z, strict=True)})

    zeros = [jnp.zeros((), point[n].dtype) for n in names]
    leaves, structure = jax.tree.flatten(jax.eval_shape(shifted, zeros))
    jets: list[Terms] = [{} for _ in leaves]
    for index in _highest(wanted):
        for below, out in _tower(shifted, zeros, index).items():
            scale = math.prod(math.factorial(n) for n in below)
            for jet, leaf in zip(jets, jax.tree.leaves(out), strict=True):
                jet[below] = leaf / scale if scale > 1 else leaf
    return jax.tree.unflatten(structure, jets)


def _highest(indices: Sequence[Index]) -> list[Index]:
    def under(a: Index, b: Index) -> bool:
        return a != b and all(i <= j for i, j in zip(a, b, strict=True))

    return [a for a in indices if not any(under(a, b) for b in indices)]


def _tower(shifted: Callable[..., Any], zeros: list[Array], index: Index) -> dict[Index, Any]:
    """All derivatives at or below one index, each `jvp` carrying the lower ones along."""

    def level(z: list[Array]) -> dict[Index, Any]:
        return {(0,) * len(index): shifted(z)}

    for k, count in enumerate(index):
        for _ in range(count):
            level = partial(_raise, level, k)
    return level(zeros)


def _raise(level: Callable[..., dict[Index, Any]], k: int, z: list[Array]) -> dict[Index, Any]:
    unit = [jnp.ones_like(zi) if i == k else jnp.zeros_like(zi) for i, zi in enumerate(z)]
    below, slope = jax.jvp(level, (z,), (unit,))
    up = {tuple(n + (i == k) for i, n in enumerate(index)): d for index, d in slope.items()}
    return {**up, **below}
