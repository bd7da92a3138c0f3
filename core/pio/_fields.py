"""Fields: solutions, input functions and their derivatives, by name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from pio._domain import Domain
from pio._errors import PioError, suggestion
from pio._jet import Index
from pio._nested import nest
from pio._taylor import expand

Engine = Literal["taylor", "nested"]


class Field(NamedTuple):
    """`s_xxt` as the quantity `s` and how often each coordinate is differentiated by."""

    base: str
    orders: Index


def parse(name: str, domain: Domain, quantities: Iterable[str]) -> Field:
    """The field that a name spells."""
    quantities = tuple(quantities)
    base, _, letters = name.partition("_")
    if base in domain.names and not letters:
        return Field(base, (0,) * len(domain.names))
    if base not in quantities:
        known = [*quantities, *domain.names]
        raise PioError(f"no field named {name!r}{suggestion(base, known)}")
    wrong = [c for c in letters if c not in domain.names]
    if wrong or name.endswith("_"):
        raise PioError(
            f"field {name!r} is to be differentiated by {''.join(wrong) or 'nothing'!r}, "
            f"but the coordinates are {', '.join(domain.names)}."
        )
    return Field(base, tuple(letters.count(c) for c in domain.names))


def asked(function: Callable[..., Any]) -> tuple[str, ...]:
    """The fields a function asks for: the names of its parameters."""
    return tuple(
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.default is p.empty
    )


def evaluate(
    fun: Callable[[Mapping[str, Array]], Mapping[str, Any]],
    point: Mapping[str, Float[Array, "..."]],
    domain: Domain,
    names: Iterable[str],
    quantities: Iterable[str],
    engine: Engine = "taylor",
) -> dict[str, Float[Array, "..."]]:
    """Derivatives by name of the quantities `fun` returns at a point, all from one pass.

    `taylor` reads the function's program (see `pio._taylor`); `nested` nests forward mode. Both
    give total derivatives and the same numbers.
    """
    fields = {name: parse(name, domain, quantities) for name in names}
    point = {n: point[n] for n in domain.names}
    bases = {f.base for f in fields.values()} - set(domain.names)
    indices = {f.orders for f in fields.values()} or {(0,) * len(domain.names)}
    jets = (expand if engine == "taylor" else nest)(
        lambda p: {k: v for k, v in fun(p).items() if k in bases}, point, indices
    )
    return {
        name: point[f.base] if f.base in point else derivative(jets[f.base], f.orders)
        for name, f in fields.items()
    }


def derivative(jet: Mapping[Index, Array], index: Index) -> Array:
    """∂^α out of Taylor's coefficients; zero where none is kept."""
    if index not in jet:
        return jnp.zeros_like(next(iter(jet.values())))
    scale = math.prod(math.factorial(n) for n in index)
    return jet[index] * scale if scale > 1 else jet[index]
