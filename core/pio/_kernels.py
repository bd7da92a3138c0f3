"""Kernels: how strongly the parameters move each residual.

The diagonal of the neural tangent kernel at a point is K = ‖∂r/∂θ‖² over all parameters; the conjugate
kernel takes only those of the last layers of branch and trunk, and has a closed form.

Let p and q be two sides of the product n = Σ_j b_j γ_j, such as the branch's hidden features with a one
appended, p = [h, 1], and the trunk's latents, q = γ. Since b = p W, ∂n/∂W is the matrix p qᵀ. A residual depends on
W through the Taylor coefficients n_α of n at the point (see `pio._jet`), so with D_α = ∂r/∂n_α,

    ∂r/∂W = Σ_α D_α (p qᵀ)_α,    (p qᵀ)_α = Σ_{β ≤ α} p_β q_{α−β}ᵀ,

whose squared norm is a quadratic form in D:

    ‖∂r/∂W‖² = Σ_{α,α'} D_α D_α' Σ_{β ≤ α, β' ≤ α'} (p_β · p_β') (q_{α−β} · q_{α'−β'}).

The kernel is this, plus the same with the roles of branch and trunk exchanged. The inner products live on
the axes of their side: those of a branch over (f, x) are never repeated along t, and no product of
a branch and a trunk is ever formed, only numbers per point are. Everything comes from the pass that
computes the residual, and no gradient flows through it.

The ansatz, if there is one, and the residual itself only enter through D, by forward mode.
A residual that compares two faces has the coefficients of both, those of the second with D negative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pio._batch import Batch
from pio._errors import PioError
from pio._fields import asked, derivative, parse
from pio._jet import Index, Terms, closure
from pio._latents import Latents, meet
from pio._model import Model, Params
from pio._nested import nest
from pio._taylor import expand

Kind = Literal["ck", "ntk"]


def kernel(
    model: Model,
    params: Params,
    function: Callable[..., Any],
    batch: Batch,
    kind: Kind = "ck",
    versus: Batch | None = None,
) -> Any:
    """The diagonal of a kernel for a function of fields, at each point of a batch.

    `function` is called with the fields its parameters name, like an equation's residual. Where it
    returns a mapping, so does this. With `versus`, it is the function's difference between two
    batches whose points correspond.
    """
    return with_kernel(model, params, function, batch, kind, versus)[1]


def with_kernel(
    model: Model,
    params: Params,
    function: Callable[..., Any],
    batch: Batch,
    kind: Kind = "ck",
    versus: Batch | None = None,
) -> tuple[Any, Any]:
    """A function of fields and the diagonal of its kernel, which is constant for differentiation.

    The conjugate kernel comes from the same pass as the function. The tangent kernel takes one gradient
    per point.
    """
    batches = (batch,) if versus is None else (batch, versus)
    if kind == "ntk":
        value = _compare([model.evaluate(function, params, b) for b in batches])
        return value, _tangent(model, params, function, batches)
    require_latents(model)
    faces = [_Face.of(model, params, function, b) for b in batches]
    value = _compare([face.value for face in faces])
    return value, jax.lax.stop_gradient(_conjugate(faces, value))


def require_latents(model: Model) -> None:
    """Refuse a model that has no last layers of branch and trunk."""
    raw = jax.eval_shape(
        lambda key: _raw(model, model.init(key), _single(model)), jax.random.key(0)
    )
    if not isinstance(raw, Latents):
        raise PioError(
            f"the conjugate kernel is made of the last layers of a branch and a trunk, but architecture "
            f"{type(model.architecture).__name__} returns no pio.Latents; "
            "use --weighting ntk, balanced or fixed."
        )


def _single(model: Model) -> Batch:
    domain = model.equation.domain
    u = jnp.zeros((1, len(model.equation.inputs.sensors)))
    return Batch.pairs(u, **{c.name: jnp.full((1,), c.low, u.dtype) for c in domain.coordinates})


def _raw(model: Model, params: Params, batch: Batch) -> Any:
    return model.latents(params, batch.u)(batch.points)


def _compare(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else jax.tree.map(jnp.subtract, *values)


# ---------------------------------------------------------------------------------------------
# The conjugate kernel


class _Side(NamedTuple):
    """The last layer of a branch or a trunk: jets of its hidden features, and of each output's latents."""

    hidden: Terms
    latents: tuple[Terms, ...]


class _Face(NamedTuple):
    """A function of fields at a batch, its derivatives by the network's coefficients, and both sides."""

    value: Any
    slopes: Mapping[tuple[int, Index], Any]
    sides: tuple[_Side, _Side]

    @classmethod
    def of(cls, model: Model, params: Params, function: Callable[..., Any], batch: Batch) -> _Face:
        domain, unknowns = model.equation.domain, model.equation.unknowns
        names = asked(function)
        fields = {name: parse(name, domain, (*unknowns, "u")) for name in names}
        point = {n: batch.points[n] for n in domain.names}
        consulted = {*model.consults, *(f.base for f in fields.values() if f.base == "u")}
        indices = {f.orders for f in fields.values()} or {(0,) * len(point)}
        to_jets = expand if model.engine == "taylor" else nest
        network = model.latents(params, batch.u)
        local = model.consult(batch.u)

        def everything(at: Mapping[str, Array]) -> dict[str, Any]:
            raw = network(at)
            b, gamma = raw.branch.value(), raw.trunk.value()
            return {
                "n": meet(raw, len(unknowns), b),
                "known": local(at, consulted),
                "hidden": (raw.branch.hidden, raw.trunk.hidden),
                "latents": (b, gamma),
            }

        jets = to_jets(everything, point, indices)
        n = [{i: jnp.broadcast_to(c, batch.shape) for i, c in jet.items()} for jet in jets["n"]]

        def called(n: Sequence[Terms]) -> Any:
            """The function, from the coefficients of the network's outputs."""
            s = dict(
                zip(unknowns, _constrained(model, n, jets["known"], point, indices), strict=True)
            )
            known = {**jets["known"], **s}
            given = {
                name: point[f.base] if f.base in point else derivative(known[f.base], f.orders)
                for name, f in fields.items()
            }
            for name, f in fields.items():
                if f.base in unknowns:
                    given[name] = jnp.broadcast_to(given[name], batch.shape)
            return function(**given)

        constant = jax.lax.stop_gradient(n)
        slopes = {
            (k, i): _slope(called, constant, k, i)
            for k, terms in enumerate(constant)
            for i in terms
        }
        sides = tuple(
            _Side(hidden, tuple(_shares(latents, len(unknowns))))
            for hidden, latents in zip(
                *jax.lax.stop_gradient((jets["hidden"], jets["latents"])), strict=True
            )
        )
        return cls(called(n), slopes, sides)  # type: ignore[arg-type]


def _constrained(
    model: Model,
    n: Sequence[Terms],
    known: Mapping[str, Terms],
    point: Mapping[str, Array],
    indices: set[Index],
) -> Sequence[Terms]:
    """The jets of the unknowns from those of the network's outputs.

    The ansatz is applied to polynomials with the coefficients at hand, whose jets these are.
    """
    if not model.hard:
        return n

    def polynomial(terms: Terms, at: Mapping[str, Array]) -> Array:
        powers = []
        for index, c in terms.items():
            shifts = [
                at[name] - point[name]
                for name, k in zip(point, index, strict=True)
                for _ in range(k)
            ]
            powers.append(math.prod(shifts, start=c))
        return sum(powers[1:], powers[0])

    def solution(at: Mapping[str, Array]) -> tuple[Array, ...]:
        local = {name: polynomial(known[name], at) for name in model.consults}
        return model.constrain(tuple(polynomial(terms, at) for terms in n), {**at, **local})

    # Nested, because D is found by forward mode through this, which layers of the other engine lack.
    jets: Sequence[Terms] = nest(solution, point, indices)
    return jets


def _slope(called: Callable[..., Any], n: Sequence[Terms], k: int, index: Index) -> Any:
    """D_α: the derivative of a pointwise function by one coefficient of one output."""

    def along(c: Array) -> Any:
        return called([{**terms, index: c} if j == k else terms for j, terms in enumerate(n)])

    c = n[k][index]
    return jax.jvp(along, (c,), (jnp.ones_like(c),))[1]


def _shares(latents: Terms, outputs: int) -> list[Terms]:
    """Each output's own latents."""
    parts = {i: jnp.split(c, outputs, axis=-1) for i, c in latents.items()}
    return [{i: p[k] for i, p in parts.items()} for k in range(outputs)]


Label = tuple[int, Index]
"""A coefficient of one of the faces."""

Gram = Mapping[tuple[Label, Label], Array]


def _gram(faces: Sequence[Terms], bias: bool = False) -> Gram:
    """Inner products of all coefficients, on the axes they vary along; a bias appends a one to each."""
    terms = {(face, i): c for face, jet in enumerate(faces) for i, c in jet.items()}
    products = {}
    for (a, p), (b, q) in itertools.combinations_with_replacement(terms.items(), 2):
        product = _inner(p, q)
        if bias and not any(a[1]) and not any(b[1]):
            product = product + 1
        products[a, b] = products[b, a] = product
    return products


def _inner(p: Array, q: Array) -> Array:
    """Σ over channels of p q.

    The pass keeps channels in front (see `pio._jet.Jet`), where their sum is a product with a row of
    ones; moving them there again undoes its last move.
    """
    p, q = (jnp.moveaxis(a, -1, 0) for a in (p, q))
    product = p * q
    ones = jnp.ones((1, len(product)), product.dtype)
    return (ones @ product.reshape(len(product), -1)).reshape(product.shape[1:])


def _conjugate(faces: Sequence[_Face], value: Any) -> Any:
    signs = (1, -1)
    slopes = {
        (k, (face, i)): jax.tree.map(lambda d, sign=signs[face]: sign * d, slope)
        for face, own in enumerate(faces)
        for (k, i), slope in own.slopes.items()
    }
    branch, trunk = ([face.sides[j] for face in faces] for j in range(2))
    hidden = [_gram([side.hidden for side in sides], bias=True) for sides in (branch, trunk)]
    total = jax.tree.map(jnp.zeros_like, value)
    for k in {k for k, _ in slopes}:
        latents = [_gram([side.latents[k] for side in sides]) for sides in (trunk, branch)]
        labels = [label for j, label in slopes if j == k]
        for a, b in itertools.combinations_with_replacement(labels, 2):
            both = [_convolved(p, q, a, b) for p, q in zip(hidden, latents, strict=True)]
            found = [m for m in both if m is not None]
            if found:
                weight = sum(found[1:], found[0]) * (1 if a == b else 2)
                total = jax.tree.map(
                    lambda t, c, d, m=weight: t + c * d * m, total, slopes[k, a], slopes[k, b]
                )
    return jax.tree.map(partial(jnp.maximum, 0), total)  # rounding may take it below


def _convolved(p: Gram, q: Gram, a: Label, b: Label) -> Array | None:
    """Σ over β ≤ α and β' ≤ α' of (p_β · p_β') (q_{α−β} · q_{α'−β'})."""
    products = []
    for i, j in itertools.product(_below(a[1]), _below(b[1])):
        own = (a[0], i), (b[0], j)
        other = (a[0], _minus(a[1], i)), (b[0], _minus(b[1], j))
        if own in p and other in q:
            products.append(p[own] * q[other])
    return sum(products[1:], products[0]) if products else None


def _below(index: Index) -> tuple[Index, ...]:
    return closure(frozenset({index}))


def _minus(a: Index, b: Index) -> Index:
    return tuple(i - j for i, j in zip(a, b, strict=True))


# ---------------------------------------------------------------------------------------------
# The tangent kernel


def _tangent(
    model: Model, params: Params, function: Callable[..., Any], batches: Sequence[Batch]
) -> Any:
    """‖∂r/∂θ‖² at each point, by a gradient of its own, some points at a time."""
    shape = jnp.broadcast_shapes(*(b.shape for b in batches))
    points = [{n: jnp.broadcast_to(c, shape).ravel() for n, c in b.points.items()} for b in batches]
    which = jnp.broadcast_to(
        jnp.arange(shape[0]).reshape(-1, *(1,) * (len(shape) - 1)), shape
    ).ravel()
    u = batches[0].u

    def residual(params: Params, row: Any) -> Any:
        index, places = row
        here = jnp.broadcast_to(u, (shape[0], *u.shape[1:]))[index][None]
        unit = (1,) * len(shape)
        values = [
            model.evaluate(
                function, params, Batch(here, {n: c.reshape(unit) for n, c in p.items()})
            )
            for p in places
        ]
        return jax.tree.map(lambda r: r.reshape(()), _compare(values))

    def squared_norms(row: Any) -> Any:
        value, pull = jax.vjp(lambda p: residual(p, row), params)
        leaves, structure = jax.tree.flatten(value)
        norms = []
        for j in range(len(leaves)):
            unit = [jnp.ones_like(r) if k == j else jnp.zeros_like(r) for k, r in enumerate(leaves)]
            (slope,) = pull(jax.tree.unflatten(structure, unit))
            norms.append(sum(jnp.sum(g * g) for g in jax.tree.leaves(slope)))
        return jax.tree.unflatten(structure, norms)

    # A gradient for each of these points is in memory at once: tens of megabytes.
    chunk = max(1, min(which.size, 2**22 // max(1, sum(p.size for p in jax.tree.leaves(params)))))
    flat = jax.lax.map(squared_norms, (which, points), batch_size=chunk)
    return jax.lax.stop_gradient(jax.tree.map(lambda k: k.reshape(shape), flat))
