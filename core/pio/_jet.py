"""Jets: Taylor coefficients of a quantity along shifts of the coordinates, and their arithmetic.

A coefficient is c_α = ∂^α s / α!, for α in a set closed under taking smaller indices. Then

- linear operations act on each coefficient alone;
- products are Cauchy products, c_γ = Σ_{α+β=γ} a_α b_β;
- a function φ of one number is φ(h) = Σ_k φ_k(h_0) (h - h_0)^k, where φ_k = φ^(k) / k!; the sum is finite
  because h - h_0 is nilpotent.

Coefficients that are zero are absent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

Index = tuple[int, ...]
Indices = tuple[Index, ...]
Terms = dict[Index, Array]


class Jet(NamedTuple):
    """A value of some shape with its coefficients.

    A coefficient may have length one on an axis where the value is long: the slope of a first layer
    is the same at every point. With `first`, arrays are kept with the last axis, the channels,
    moved to the front. The rows of a network are then the columns of a matrix H, its layers Wᵀ H, and the
    gradient of W is H Gᵀ: the two products that a CPU computes at full speed, where Hᵀ G runs at
    half of it.
    """

    terms: Terms
    shape: tuple[int, ...]
    first: bool = False

    def value(self) -> Array:
        """The zeroth coefficient, in the layout of the program."""
        c = self.terms[min(self.terms)]  # the index of no derivatives is the least
        return jnp.moveaxis(c, 0, -1) if self.first else c

    def laid(self, first: bool) -> Jet:
        """The same jet with its channels first, or last."""
        if self.first == first or not self.shape:
            return self
        ends = (-1, 0) if first else (0, -1)
        terms = {i: jnp.moveaxis(ranked(c, len(self.shape)), *ends) for i, c in self.terms.items()}
        return Jet(terms, self.shape, first)

    def plain(self) -> Terms:
        """All coefficients in the layout of the program and at full length."""
        return {i: full(c, self.shape) for i, c in self.laid(False).terms.items()}


def ranked(c: Array, ndim: int) -> Array:
    """The coefficient with as many axes as its value."""
    return c if c.ndim == ndim else c.reshape((1,) * (ndim - c.ndim) + c.shape)


def full(c: Array, shape: tuple[int, ...]) -> Array:
    return c if c.shape == shape else jnp.broadcast_to(c, shape)


@cache
def closure(indices: frozenset[Index]) -> Indices:
    """All indices at or below the given ones, in order of their degree."""
    below = {b for a in indices for b in itertools.product(*(range(n + 1) for n in a))}
    return tuple(sorted(below, key=lambda a: (sum(a), a)))


@cache
def sums(indices: Indices) -> dict[Index, tuple[tuple[Index, Index], ...]]:
    """For each index γ, the pairs (α, β) with α + β = γ."""
    known = set(indices)
    table: dict[Index, list[tuple[Index, Index]]] = {g: [] for g in indices}
    for a, b in itertools.product(indices, repeat=2):
        total = tuple(i + j for i, j in zip(a, b, strict=True))
        if total in known:
            table[total].append((a, b))
    return {g: tuple(pairs) for g, pairs in table.items()}


def cauchy(indices: Indices, a: Terms, b: Terms, op: Callable[[Array, Array], Array]) -> Terms:
    """The product of two jets under a bilinear operation."""
    out: Terms = {}
    for total, pairs in sums(indices).items():
        products = [op(a[i], b[j]) for i, j in pairs if i in a and j in b]
        if products:
            out[total] = sum(products[1:], products[0])
    return out


# ---------------------------------------------------------------------------------------------
# Functions of one number


def compose(indices: Indices, series: Sequence[Array], h: Terms) -> Terms:
    """The coefficients of φ(h) beyond the zeroth, from φ_1, φ_2, … and those of h."""
    step = {i: c for i, c in h.items() if any(i)}
    out: Terms = {}
    power = step
    for phi in series:
        for i, c in power.items():
            out[i] = out[i] + phi * c if i in out else phi * c
        power = cauchy(indices, power, step, jnp.multiply)
    return out


def order(indices: Indices, h: Terms) -> int:
    """How many powers of h - h_0 survive the truncation."""
    step = {i for i in h if any(i)}
    power, count = step, 0
    while power:
        count += 1
        power = {
            t for t, ps in sums(indices).items() if any(a in power and b in step for a, b in ps)
        }
    return count


def through(indices: Indices, phi: Callable[[Array], Array], h: Terms) -> Terms:
    """φ(h) for any elementwise function, its derivatives by nested forward mode."""
    zero = indices[0]
    series, slope = [], phi
    for k in range(1, order(indices, h) + 1):
        slope = partial(_slope, slope)
        series.append(slope(h[zero]) / math.factorial(k))
    return {zero: phi(h[zero]), **compose(indices, series, h)}


def _slope(phi: Callable[[Array], Array], h: Array) -> Array:
    slope: Array = jax.jvp(phi, (h,), (jnp.ones_like(h),))[1]
    return slope


# Activations whose derivatives are polynomials in y = φ(h): dy/dh as coefficients of 1, y, y², …
# The backward pass can then start from y, which the next layer keeps anyway.
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], tuple[float, ...]]] = {
    "tanh": (jnp.tanh, (1.0, 0.0, -1.0)),
    "logistic": (jax.nn.sigmoid, (0.0, 1.0, -1.0)),
    "exp": (jnp.exp, (0.0, 1.0)),
}


def _series(name: str, y: Array, count: int) -> list[Array]:
    """φ_1, φ_2, … at y: with p_k = φ_k as a polynomial in y, p_{k+1} = p_k'(y) y'(h) / (k + 1)."""
    _, slope = ACTIVATIONS[name]
    series: list[Array] = []
    p: tuple[float, ...] = (0.0, 1.0)
    for k in range(count):
        derivative = [i * c for i, c in enumerate(p)][1:]
        q = [0.0] * (len(derivative) + len(slope) - 1)
        for (i, a), (j, b) in itertools.product(enumerate(derivative), enumerate(slope)):
            q[i + j] += a * b
        p = tuple(c / (k + 1) for c in q)
        value = jnp.full_like(y, p[-1])
        for c in reversed(p[:-1]):
            value = value * y + c
        series.append(value)
    return series


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def activate(name: str, indices: Indices, h: Terms) -> Terms:
    """φ(h) for one of the activations above."""
    return _activate_forward(name, indices, h)[0]


def _activate_forward(name: str, indices: Indices, h: Terms) -> tuple[Terms, tuple[Array, Terms]]:
    zero = indices[0]
    y = ACTIVATIONS[name][0](h[zero])
    series = _series(name, y, order(indices, h))
    return {zero: y, **compose(indices, series, h)}, (y, {i: c for i, c in h.items() if any(i)})


def _activate_backward(
    name: str, indices: Indices, kept: tuple[Array, Terms], ct: Terms
) -> tuple[Terms]:
    # Everything but y is recomputed: a few multiplications of numbers already in cache, where
    # keeping them would multiply the memory of the pass.
    zero = indices[0]
    y, step = kept
    count = order(indices, step)
    _, pull = jax.vjp(lambda y, h: compose(indices, _series(name, y, count), h), y, step)
    y_bar, step_bar = pull({i: c for i, c in ct.items() if any(i)})
    return ({zero: (ct[zero] + y_bar) * _series(name, y, 1)[0], **step_bar},)


activate.defvjp(_activate_forward, _activate_backward)


# ---------------------------------------------------------------------------------------------
# Layers


Options = tuple[tuple[str, Any], ...]
"""Further parameters of a matrix product, such as its precision."""


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def layer(options: Options, w: Array, h: Array) -> Array:
    """Wᵀ H: a weight matrix and a batch of columns."""
    return _dot(options, _upright(w), h, 0)


def _layer_forward(options: Options, w: Array, h: Array) -> tuple[Array, tuple[Array, Array]]:
    return _dot(options, _upright(w), h, 0), (w, h)


def _layer_backward(options: Options, kept: tuple[Array, Array], ct: Array) -> tuple[Array, Array]:
    w, h = kept
    return _dot(options, h, ct, 1), _dot(options, w, ct, 0)


layer.defvjp(_layer_forward, _layer_backward)


def _dot(options: Options, a: Array, b: Array, axis: int) -> Array:
    return jax.lax.dot_general(a, b, (((1,), (axis,)), ((), ())), **dict(options))


def _upright(w: Array) -> Array:
    """Wᵀ in memory: transposing the small matrix is cheap, a product with it transposed is not."""
    return jax.lax.optimization_barrier(w.T) if jax.default_backend() == "cpu" else w.T
