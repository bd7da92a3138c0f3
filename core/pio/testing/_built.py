"""A model made with the plugin that is checked, and the plainest of everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from pio._errors import PioError
from pio._fields import Engine, asked
from pio._model import Model
from pio.testing._check import Failure, measured
from pio.testing._plain import Bare, Plain, Problem
from pio.testing._subject import Subject
from pio.testing._try import block, compiled, flat, functions, parameters


def problems(subject: Subject) -> Iterator[Any]:
    """Equations to try an architecture or an embedding with: plain ones first, then those installed."""
    yield from (Problem(), Problem(periodic=False))
    for name in subject.registry.of("equation"):
        try:
            yield subject.registry.make("equation", name)
        except PioError:
            continue  # it needs options, or is broken, and is not what is checked


@measured
def model(subject: Subject) -> Model:
    """The plugin with the plainest of everything else."""
    return build(subject, subject.product)


def build(subject: Subject, product: Any) -> Model:
    if subject.kind == "equation":
        return Model(product, Plain(), Bare(), hard=hasattr(product, "ansatz"))
    refusals = []
    for problem in problems(subject):
        try:
            if subject.kind == "architecture":
                return Model(problem, product, Bare())
            return Model(problem, Plain(), product)
        except PioError as error:
            refusals.append(error)
    raise Failure(
        f"{subject.noun} suits no equation: {refusals[0]}",
        "name features and coordinates that there are: u, x, t, u(x), û, u(x+δ), or those that an equation offers.",
    )


@measured
def values(
    subject: Subject, layout: str = "block", bits: int = 64, engine: Engine = "taylor"
) -> Mapping[str, Any]:
    """Fields of the model at a small batch, with random parameters."""
    m = model(subject)
    m = Model(m.equation, m.architecture, m.embedding, m.hard, m.centred, engine)
    dtype = jnp.dtype(f"float{bits}")
    batch = block(m.equation, functions(m.equation), dtype)
    batch = batch if layout == "block" else flat(batch)
    params = jax.tree.map(lambda p: p.astype(dtype), parameters(m))
    found: Mapping[str, Any] = compiled(lambda p, b: m.fields(p, b, names(subject)))(params, batch)
    return found


def names(subject: Subject) -> tuple[str, ...]:
    """Everything that the equation asks for; of an equation of ours, a third derivative too."""
    equation = model(subject).equation
    wanted = [*equation.unknowns, *asked(equation.residual)]
    for condition in equation.conditions():
        wanted += asked(condition.residual)
    if isinstance(equation, Problem):
        wanted += [f"{s}_xxx" for s in equation.unknowns]
    return tuple(dict.fromkeys(wanted))
