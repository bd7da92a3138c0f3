"""What is worth saying of a plugin beyond its docstring and options: one function a kind.

Each takes the thing made, the registry and the name of an equation to explain it with, and yields
rows of (label, text).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pio._config import presets
from pio._domain import Coordinate
from pio._errors import PioError
from pio._registry import Registry

Rows = Iterator[tuple[str, str]]


def equation(equation: Any, registry: Registry, example: str | None) -> Rows:
    """Domain, input functions, unknowns, residual, conditions, references and presets."""
    del example
    for c in equation.domain.coordinates:
        yield "domain", f"{c.name} from {c.low:g} to {c.high:g}{', periodic' * c.periodic}"
    if equation.inputs is not None:  # which is not there yet while a plugin is being written
        yield "inputs", _inputs(equation)
    yield "unknowns", ", ".join(equation.unknowns)
    yield "residual", f"of {_parameters(equation.residual)}"
    for condition in equation.conditions():
        faces = [condition.at, *([condition.versus] if condition.versus else [])]
        where = " against ".join(
            ", ".join(f"{name} = {value:g}" for name, value in face.items()) for face in faces
        )
        yield "condition", f"{condition.name}, at {where}, of {_parameters(condition.residual)}"
    if hasattr(equation, "ansatz"):
        yield "ansatz", f"of {_parameters(equation.ansatz)}; {_met(equation, registry)}"
    for name, reference in equation.references.items():
        yield "reference", f"{name}: {reference.summary}"
    yield "presets", ", ".join(presets(equation))


def _inputs(equation: Any) -> str:
    """The space that u is drawn from, with its options, and where its sensors are."""
    import numpy as np

    space = equation.inputs
    places = np.asarray(space.sensors, float).reshape(len(space.sensors), -1)
    spans = [
        f"{name} = {column.min():g} … {column.max():g}"
        for name, column in zip(space.coordinates, places.T, strict=True)
    ]
    return f"{_brief(space)}, {len(places)} sensors, {', '.join(spans)}"


def _brief(value: Any) -> str:
    """A value as one would write it, coordinates by name, long lists by their length."""
    if isinstance(value, Coordinate):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        told = [f.name for f in fields(value) if f.repr and getattr(value, f.name) is not None]
        return (
            f"{type(value).__name__}({', '.join(f'{n}={_brief(getattr(value, n))}' for n in told)})"
        )
    if isinstance(value, (tuple, list)):
        return f"[{len(value)} numbers]" if len(value) > 4 else f"({', '.join(map(_brief, value))})"
    if isinstance(value, float):
        return f"{value:g}"
    return type(value).__name__ if len(repr(value)) > 40 else repr(value)


def _met(equation: Any, registry: Registry) -> str:
    """Which conditions the ansatz meets with the embedding of the first preset that uses it. It is tried."""
    from pio._guarantee import ROUNDING, anything, missed

    found = [r for r in presets(equation).values() if r.constraints == "hard" and r.embedding]
    name, options = (found[0].embedding if found else None) or ("none", {})
    try:
        model = anything(equation, registry.make("embedding", name, options), hard=True)
    except PioError as error:
        return f"cannot be tried with embedding {name}: {error}"
    left = [condition for condition, far in missed(model).items() if far > ROUNDING]
    met = "meets the conditions exactly" if not left else f"does not meet {', '.join(left)}"
    rest = (
        ""
        if not left
        else ", which stay terms of the loss"
        if len(left) > 1
        else ", which stays a term of the loss"
    )
    return f"with embedding {name}, it {met}{rest}"


def architecture(architecture: Any, registry: Registry, example: str | None) -> Rows:
    """The features that each subnetwork reads, and the axes along which its latents then vary.

    The axes are observed, not declared: the network is traced with arrays of different lengths on
    the axes (f, x, t) of a problem in one dimension.
    """
    for subnetwork, features in architecture.reads.items():
        yield subnetwork, f"reads {', '.join(features)}"
    yield "plan", " · ".join(_axes(architecture))
    yield from _cost(architecture, registry, example)


def _cost(architecture: Any, registry: Registry, example: str | None) -> Rows:
    """Parameters, and what a residual costs beside the plainest network of the same size."""
    import jax

    from pio import Model
    from pio._cost import count, residual_cost

    if example is None:
        known = registry.of("equation")
        example = "kdv" if "kdv" in known else next(iter(known), None)
    if example is None:
        return
    equation = registry.make("equation", example)
    recipe = presets(equation).get("paper")
    name, options = (recipe.embedding if recipe else None) or ("none", {})
    embedding = registry.make("embedding", name, options)
    setting = f"for {example}, embedding {name}"
    try:
        model = Model(equation, architecture, embedding)
    except PioError as error:
        yield "cost", f"none {setting}: {error}"
        return
    yield "parameters", f"{count(jax.eval_shape(model.init, jax.random.key(0))):,} {setting}"
    size = {k: getattr(architecture, k) for k in ("width", "depth") if hasattr(architecture, k)}
    try:
        plain = Model(equation, registry.make("architecture", "vanilla", size), embedding)
    except PioError:
        return  # no vanilla, or of no comparable size
    lengths = (16,) * len(equation.domain.axes)
    ratios = {
        layout: residual_cost(model, layout, lengths) / residual_cost(plain, layout, lengths)
        for layout in ("pairs", "block")
    }
    block = " × ".join(map(str, lengths))
    yield (
        "cost",
        f"{ratios['pairs']:.3g} times vanilla at pairs, {ratios['block']:.3g} times at a block of "
        f"{block} {setting}; multiplications in the matrix products of one residual",
    )


LENGTHS = {"f": 2, "x": 3, "t": 5}


def _axes(architecture: Any) -> list[str]:
    import jax

    from pio import Coordinate, Domain, Latents, PeriodicField
    from pio._features import offered

    domain = Domain(Coordinate("x", periodic=True), Coordinate("t"))
    varies = {
        name: f.axes for name, f in offered(domain, PeriodicField(domain["x"], 8, (1.0,))).items()
    }
    varies |= {name: (name,) for name in domain.names}

    def aligned(feature: str) -> jax.ShapeDtypeStruct:
        axes = varies.get(feature, domain.axes)  # an equation's own may vary along any
        shape = [n if axis in axes else 1 for axis, n in LENGTHS.items()]
        return jax.ShapeDtypeStruct((*shape, 1), "float32")

    inputs = {name: tuple(map(aligned, reads)) for name, reads in architecture.reads.items()}
    network = architecture.network(1)
    parameters = jax.eval_shape(network.init, jax.random.key(0), inputs)
    result = jax.eval_shape(network.apply, parameters, inputs)
    if isinstance(result, Latents):
        result = tuple(side.hidden for side in result)
    return [
        "".join(axis for axis, n in zip(LENGTHS, array.shape, strict=False) if n > 1)
        for array in result
    ]


EXPLAIN: Mapping[str, Callable[[Any, Registry, str | None], Rows]] = {
    "equation": equation,
    "architecture": architecture,
}


def _parameters(function: Callable[..., Any]) -> str:
    return ", ".join(inspect.signature(function).parameters)
