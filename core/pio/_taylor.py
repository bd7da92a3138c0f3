"""Taylor mode: one pass through a program gives all derivatives it is asked for.

`expand` reads the program of a function (its jaxpr) and replaces each operation on numbers by the same
operation on jets. A network written in plain Haiku is thereby evaluated one matrix product per
coefficient and layer, nothing is propagated through what does not depend on a coordinate, and what
is not in the tables below is differentiated by nested `jvp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex
from jaxtyping import Array

from pio._errors import PioError
from pio._jet import (
    ACTIVATIONS,
    Index,
    Indices,
    Jet,
    Terms,
    activate,
    cauchy,
    closure,
    full,
    layer,
    ranked,
    through,
)
from pio._nested import nest


def expand(fun: Callable[..., Any], point: Mapping[str, Array], indices: Iterable[Index]) -> Any:
    """The Taylor coefficients of `fun(point)`, as a pytree of dicts by index.

    Indices count derivatives per coordinate, in the order of `point`. Coefficients are divided by the
    factorials of their index; those that vanish identically are left out.
    """
    wanted = closure(frozenset(indices))
    names = list(point)
    closed, shape = jax.make_jaxpr(
        lambda values: fun(dict(zip(names, values, strict=True))), return_shape=True
    )(list(point.values()))
    inputs = []
    for k, value in enumerate(point.values()):
        unit = tuple(int(j == k) for j in range(len(names)))
        terms = {wanted[0]: value}
        if unit in wanted:
            terms[unit] = jnp.ones((1,) * value.ndim, value.dtype)
        inputs.append(Jet(terms, value.shape))
    flat = _run(wanted, closed.jaxpr, closed.consts, inputs)
    leaves = [out.plain() if isinstance(out, Jet) else {wanted[0]: out} for out in flat]
    return jax.tree.unflatten(jax.tree.structure(shape), leaves)


def _run(indices: Indices, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Evaluate a program whose values are arrays or jets."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, map(jnp.asarray, consts), strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        if isinstance(atom, jex.Literal):
            aval: Any = atom.aval
            return jnp.asarray(atom.val, aval.dtype)
        return values[atom]

    for eqn in jaxpr.eqns:
        operands = [read(v) for v in eqn.invars]
        if not any(isinstance(o, Jet) for o in operands) and not _is_layer(eqn):
            results = _bind(eqn, *operands)
        elif (inner := _called(eqn)) is not None:
            results = _run(indices, inner.jaxpr, inner.consts, operands)
        else:
            results = _step(indices, eqn, operands)
        values.update(
            zip(eqn.outvars, results if eqn.primitive.multiple_results else [results], strict=True)
        )
    return [read(v) for v in jaxpr.outvars]


def _bind(eqn: Any, *operands: Any) -> Any:
    return eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))


def _called(eqn: Any) -> Any:
    """The program that an equation merely calls, if it is such an equation.

    Functions with a derivative of their author's own are not among them: they are nested, so that
    his rule is the one that is used.
    """
    if eqn.primitive.name in ("jit", "closed_call", "remat", "checkpoint"):
        inner = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
        return inner if isinstance(inner, jex.ClosedJaxpr) else jex.ClosedJaxpr(inner, ())
    return None


# ---------------------------------------------------------------------------------------------
# One operation. Rules take the equation, its operands as jets, and return a jet.

# Elementwise functions of one operand; their parameters are constants of the operation.
_ELEMENTWISE = frozenset(
    "exp2 expm1 log log1p sin cos tan sinh cosh asin acos atan asinh acosh atanh sqrt rsqrt cbrt erf erfc "
    "erf_inv lgamma digamma integer_pow square".split()
)
# Derivatives of these vanish wherever they exist, so their results are plain numbers again.
_FLAT = frozenset(
    "sign floor ceil round is_finite eq ne lt le gt ge and or not xor argmax argmin stop_gradient".split()
)
# Linear operations on single elements, and those that move or add up elements of their first operand.
_POINTWISE = frozenset("neg convert_element_type real imag copy copy_p reduce_precision".split())
_STRUCTURAL = frozenset(
    "transpose slice dynamic_slice gather rev reduce_sum cumsum reshape squeeze".split()
)


def _step(indices: Indices, eqn: Any, operands: list[Any]) -> Any:
    """One operation of which at least one operand is a jet, or that is a layer."""
    name = eqn.primitive.name
    shape = getattr(eqn.outvars[0].aval, "shape", ())
    exact = not any(jnp.issubdtype(v.aval.dtype, jnp.inexact) for v in eqn.outvars)
    if exact or name in _FLAT:  # whole numbers and truth values have no derivatives either
        return _bind(eqn, *(o.value() if isinstance(o, Jet) else o for o in operands))
    if name in ACTIVATIONS:
        return operands[0]._replace(terms=activate(name, indices, operands[0].terms))
    if name in _ELEMENTWISE:
        return operands[0]._replace(terms=through(indices, partial(_bind, eqn), operands[0].terms))
    if name in _POINTWISE:
        return operands[0]._replace(terms={i: _bind(eqn, c) for i, c in operands[0].terms.items()})
    if name in _RULES:
        jets = [o if isinstance(o, Jet) else Jet({indices[0]: o}, jnp.shape(o)) for o in operands]
        out = _RULES[name](indices, eqn, shape, *jets)
        if out is not None:
            return out
    if (
        name in _STRUCTURAL
        and isinstance(operands[0], Jet)
        and not any(isinstance(o, Jet) for o in operands[1:])
    ):
        terms = {i: _bind(eqn, c, *operands[1:]) for i, c in operands[0].plain().items()}
        return Jet(terms, shape)
    return _nested(indices, eqn, operands)


def _agreed(a: Jet, b: Jet) -> tuple[Jet, Jet]:
    """Two operands of an elementwise operation in one layout."""
    first = a.first or b.first
    return a.laid(first), b.laid(first)


def _mul(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, b: Jet) -> Jet:
    a, b = _agreed(a, b)
    return Jet(cauchy(indices, a.terms, b.terms, jnp.multiply), shape, a.first or b.first)


def _div(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, b: Jet) -> Jet:
    if len(b.terms) > 1:
        return _mul(
            indices, eqn, shape, a, b._replace(terms=through(indices, jnp.reciprocal, b.terms))
        )
    a, b = _agreed(a, b)
    return Jet({i: c / b.terms[indices[0]] for i, c in a.terms.items()}, shape, a.first or b.first)


def _add(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, b: Jet) -> Jet:
    a, b = _agreed(a, b)
    terms = dict(a.terms)
    for i, c in b.terms.items():
        c = -c if eqn.primitive.name == "sub" and i not in terms else c
        if i not in terms:
            terms[i] = c
        else:
            terms[i] = terms[i] - c if eqn.primitive.name == "sub" else terms[i] + c
    return Jet(terms, shape, a.first or b.first)


def _pow(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, b: Jet) -> Jet | None:
    if len(b.terms) > 1:
        return None
    a, b = _agreed(a, b)
    exponent = b.terms[indices[0]]
    return Jet(
        through(indices, lambda h: jnp.power(h, exponent), a.terms), shape, a.first or b.first
    )


def _abs(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet) -> Jet:
    up = a.terms[indices[0]] >= 0
    return a._replace(terms={i: jnp.where(up, c, -c) for i, c in a.terms.items()})


def _choose(indices: Indices, eqn: Any, shape: tuple[int, ...], *jets: Jet) -> Jet:
    """Operations that take each element from one of several operands."""
    if eqn.primitive.name == "select_n":
        pick: Callable[..., Any] = partial(jax.lax.select_n, jets[0].value())
        jets = jets[1:]
    elif eqn.primitive.name == "concatenate":
        pick = lambda *parts: jax.lax.concatenate(parts, eqn.params["dimension"])  # noqa: E731
    else:
        a, b = (jet.value() for jet in jets)
        pick = partial(jnp.where, a >= b if eqn.primitive.name == "max" else a <= b)
        jets = tuple(Jet(jet.laid(False).terms, shape) for jet in jets)
    plain = [jet.plain() for jet in jets]
    dtype = eqn.outvars[0].aval.dtype
    zeros = [jnp.zeros(jet.shape, dtype) for jet in jets]
    every = [i for i in indices if any(i in terms for terms in plain)]
    return Jet(
        {i: pick(*(t.get(i, z) for t, z in zip(plain, zeros, strict=True))) for i in every}, shape
    )


def _broadcast(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, *_: Jet) -> Jet:
    """Broadcast the value; its coefficients only gain axes of length one."""
    dims = eqn.params["broadcast_dimensions"]
    keep = a.first and bool(dims) and dims[-1] == len(shape) - 1
    a = a.laid(keep)
    if keep:  # the channels stay in front
        dims = (0, *(d + 1 for d in dims[:-1]))
        shape_there = (shape[-1], *shape[:-1])
    else:
        shape_there = shape
    terms = {}
    for i, c in a.terms.items():
        c = ranked(c, len(a.shape))
        if any(i):
            lazy = [1] * len(shape)
            for axis, size in zip(dims, c.shape, strict=True):
                lazy[axis] = size
            terms[i] = jax.lax.broadcast_in_dim(c, lazy, dims)
        else:
            terms[i] = jax.lax.broadcast_in_dim(c, shape_there, dims)
    return Jet(terms, shape, keep)


def _reshape(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, *_: Jet) -> Jet | None:
    """Reshape the leading axes of a jet that has its channels in front."""
    gone = eqn.params.get("dimensions") or ()  # the axes that a squeeze takes away
    if not (a.first and shape and shape[-1] == a.shape[-1]) or len(a.shape) - 1 in gone:
        return None
    long = (a.shape[-1], *a.shape[:-1])
    terms = {i: full(c, long).reshape(shape[-1], *shape[:-1]) for i, c in a.terms.items()}
    return Jet(terms, shape, True)


# ---------------------------------------------------------------------------------------------
# Products


def _is_layer(eqn: Any) -> bool:
    """Whether an equation multiplies the channels of an aligned array by a matrix."""
    if eqn.primitive.name != "dot_general":
        return False
    (contract, batch) = eqn.params["dimension_numbers"]
    a, b = (v.aval for v in eqn.invars)
    return not batch[0] and a.ndim > 2 and b.ndim == 2 and contract == ((a.ndim - 1,), (0,))


def _product(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, b: Jet) -> Jet:
    options = {
        k: v for k, v in eqn.params.items() if k not in ("dimension_numbers", "out_sharding")
    }
    if _is_layer(eqn) and len(b.terms) == 1:
        return _layer(shape, tuple(options.items()), a.laid(True), b.value())
    (contract, batch) = eqn.params["dimension_numbers"]
    if batch[0] and len(contract[0]) == 1 and (a.first or b.first):
        out = _pairing(indices, eqn, shape, a, b)
        if out is not None:
            return out

    def operand(c: Array, side: int, jet: Jet) -> Array:
        c = ranked(c, len(jet.shape))
        must = {*contract[side], *batch[side]}
        return full(c, tuple(jet.shape[i] if i in must else n for i, n in enumerate(c.shape)))

    def dot(x: Array, y: Array) -> Array:
        return jax.lax.dot_general(operand(x, 0, a), operand(y, 1, b), (contract, batch), **options)

    return Jet(cauchy(indices, a.laid(False).terms, b.laid(False).terms, dot), shape)


def _layer(shape: tuple[int, ...], options: Any, a: Jet, w: Array) -> Jet:
    terms = {}
    for i, c in a.terms.items():
        c = ranked(c, len(shape))
        c = full(c, (a.shape[-1], *c.shape[1:]))
        terms[i] = layer(options, w, c.reshape(c.shape[0], -1)).reshape(w.shape[1], *c.shape[1:])
    return Jet(terms, shape, True)


def _pairing(indices: Indices, eqn: Any, shape: tuple[int, ...], a: Jet, b: Jet) -> Jet | None:
    """Σ_p a_p b_p where all axes of one operand are shared by the other: multiply, then add up.

    The products of all coefficients that meet in one are added before the sum over channels, which is a
    product with ones: a row of them times a matrix.
    """
    (contract, batch) = eqn.params["dimension_numbers"]
    for jet, c, shared in ((a, contract[0], batch[0]), (b, contract[1], batch[1])):
        if c != (len(jet.shape) - 1,) or tuple(shared) != tuple(range(len(shared))):
            return None
    a, b = a.laid(True), b.laid(True)
    count = len(batch[0])
    small, large = sorted((a, b), key=lambda jet: len(jet.shape))
    if len(small.shape) != count + 1:
        return None

    def lifted(c: Array) -> Array:
        c = ranked(c, len(small.shape))
        return c.reshape(*c.shape, *(1,) * (len(large.shape) - len(small.shape)))

    few = {i: lifted(c) for i, c in small.terms.items()}
    many = {i: ranked(c, len(large.shape)) for i, c in large.terms.items()}
    channels, rows = large.shape[-1], large.shape[:-1]
    terms = {}
    for i, c in cauchy(indices, few, many, jnp.multiply).items():
        c = full(c, (channels, *c.shape[1:]))
        flat = c.reshape(channels, -1)
        total = (jnp.ones((1, channels), c.dtype) @ flat).reshape(c.shape[1:])
        terms[i] = full(total, rows) if not any(i) else total
    return Jet(terms, shape)


_RULES: dict[str, Callable[..., Jet | None]] = {
    "mul": _mul,
    "div": _div,
    "add": _add,
    "add_any": _add,
    "sub": _add,
    "pow": _pow,
    "abs": _abs,
    "max": _choose,
    "min": _choose,
    "select_n": _choose,
    "concatenate": _choose,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "dot_general": _product,
}


# ---------------------------------------------------------------------------------------------
# Everything else


def _nested(indices: Indices, eqn: Any, operands: list[Any]) -> Any:
    """Restore the operands as polynomials of the shifts, and nest `jvp`."""
    plain: list[Any] = [o.plain() if isinstance(o, Jet) else o for o in operands]
    values = _bind(eqn, *(o[indices[0]] if isinstance(o, dict) else o for o in plain))
    if all(len(o) == 1 for o in plain if isinstance(o, dict)):
        return values
    if eqn.primitive.name == "custom_vjp_call":
        raise PioError(
            "a function with a backward rule of its own (jax.custom_vjp) cannot be differentiated "
            "along coordinates; give it a forward rule (jax.custom_jvp)."
        )
    several = eqn.primitive.multiple_results
    smooth = [jnp.issubdtype(v.dtype, jnp.inexact) for v in values] if several else []

    def along(shift: Mapping[str, Array]) -> list[Any]:
        z = list(shift.values())

        def restored(terms: Terms) -> Array:
            powers = [
                c
                * math.prod(
                    (zk**n for zk, n in zip(z, i, strict=True) if n), start=jnp.ones((), c.dtype)
                )
                for i, c in terms.items()
            ]
            return sum(powers[1:], powers[0])

        out = _bind(eqn, *(restored(o) if isinstance(o, dict) else o for o in plain))
        # Whole numbers among the results have no derivatives.
        return [o for o, s in zip(out, smooth, strict=True) if s] if several else [out]

    dtype = next(c.dtype for o in plain if isinstance(o, dict) for c in o.values())
    shifts = {str(k): jnp.zeros((), dtype) for k in range(len(indices[0]))}
    jets = [Jet(terms, terms[indices[0]].shape) for terms in nest(along, shifts, indices)]
    if not several:
        return jets[0]
    rest = iter(jets)
    return [next(rest) if s else value for value, s in zip(values, smooth, strict=True)]
