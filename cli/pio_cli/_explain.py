"""What is worth saying of a plugin beyond its docstring and options: one function a kind.

Each takes the thing made and yields rows of (label, text).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Rows = Iterator[tuple[str, str]]


def equation(equation: Any) -> Rows:
    """Domain, unknowns, residual, conditions, references and presets."""
    for c in equation.domain.coordinates:
        yield "domain", f"{c.name} from {c.low:g} to {c.high:g}{', periodic' * c.periodic}"
    yield "unknowns", ", ".join(equation.unknowns)
    yield "residual", f"of {_parameters(equation.residual)}"
    for condition in equation.conditions():
        faces = [condition.at, *([condition.versus] if condition.versus else [])]
        where = " against ".join(
            ", ".join(f"{name} = {value:g}" for name, value in face.items()) for face in faces
        )
        yield "condition", f"{condition.name}, at {where}, of {_parameters(condition.residual)}"
    if hasattr(equation, "ansatz"):
        yield "ansatz", f"of {_parameters(equation.ansatz)}; meets the conditions exactly"
    for name, reference in equation.references.items():
        yield "reference", f"{name}: {reference.summary}"
    if presets := getattr(equation, "presets", None):
        yield "presets", ", ".join(presets)


def architecture(architecture: Any) -> Rows:
    """The features that each subnetwork reads, and the axes along which its latents then vary.

    The axes are observed, not declared: the network is traced with arrays of different lengths on
    the axes (f, x, t) of a problem in one dimension.
    """
    for subnetwork, features in architecture.reads.items():
        yield subnetwork, f"reads {', '.join(features)}"
    yield "plan", " · ".join(_axes(architecture))


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


EXPLAIN: Mapping[str, Callable[[Any], Rows]] = {
    "equation": equation,
    "architecture": architecture,
}


def _parameters(function: Callable[..., Any]) -> str:
    return ", ".join(inspect.signature(function).parameters)
