"""Checks of an equation's input functions: how they are drawn, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pio._differences import Stencil
from pio._equation import Equation
from pio._fields import asked, evaluate, parse
from pio._space import _at, read
from pio.testing._check import Failure, check, require
from pio.testing._subject import Subject
from pio.testing._try import block, compiled, functions, gap


@check("equation", after="makes")
def sampling(subject: Subject) -> None:
    """Input functions are drawn as a function of the key, and of nothing else."""
    space, domain = subject.product.inputs, subject.product.domain
    who = f"{type(space).__name__}.sample"
    strange = [name for name in space.coordinates if name not in domain.names]
    require(
        not strange,
        f"{subject.noun}.inputs is a space of functions of {', '.join(space.coordinates)}, but the coordinates are "
        f"{', '.join(domain.names)}.",
        f"let its `coordinates` name what u depends on, in a tuple: ({domain.names[0]!r},).",
    )
    keys = jax.random.split(jax.random.key(0), 2)
    first, again, other = (np.asarray(space.sample(k, 3)) for k in (keys[0], keys[0], keys[1]))
    sensors = len(np.asarray(space.sensors))
    require(
        first.shape == (3, sensors),
        f"{who}(key, 3) returns shape {first.shape}, but there are {sensors} sensors.",
        "return (n, sensors): one row per function, one value per sensor.",
    )
    require(
        np.isfinite(first).all(),
        f"{who} returns values that are not finite.",
        "look for a division by zero, or a logarithm or root of negative numbers.",
    )
    mend = "draw every number from the key, with jax.random.normal(key, …); split the key to use it twice."
    require(
        np.array_equal(first, again),
        f"{who} returns other functions at a second call with the same key (largest difference "
        f"{np.abs(first - again).max():.2g}).",
        mend,
    )
    require(
        gap(first, other) > 1e-6, f"{who} returns the same functions for two different keys.", mend
    )
    require(
        gap(first[0], first[1]) > 1e-6,
        f"{who} returns the same function over and over.",
        "draw with a shape that begins with n.",
    )
    compiled = jax.jit(lambda key: space.sample(key, 3))
    for k, plain in zip(keys, (first, other), strict=True):
        require(
            gap(compiled(k), plain) < 1e-6,
            f"{who} returns other functions under jax.jit: it draws numbers while it is traced, not from the key.",
            mend,
        )


@check("equation", after="makes sampling spaces")
def sensors(subject: Subject) -> None:
    """Read at its sensors, u is what was given there; read anywhere, it broadcasts."""
    equation = subject.product
    space, u = equation.inputs, functions(equation)
    who = f"{type(space).__name__}.at"
    places = np.asarray(space.sensors, float).reshape(len(u[0]), -1)
    require(
        places.shape[1] == len(space.coordinates),
        f"{type(space).__name__}.sensors has {places.shape[1]} numbers per sensor, but u is a function of "
        f"{', '.join(space.coordinates)}.",
        "give one row per sensor, with one number per coordinate of u.",
    )
    misfit = gap(read(space, u, *places.T), u)
    require(
        misfit < 1e-2,
        f"{who} differs from u by {misfit:.2g} (relative) at the sensors themselves.",
        "interpolate the values given, in the order of `sensors`; or take more sensors, or smoother functions.",
    )
    batch = block(equation, u)
    lengths = dict(zip(equation.domain.axes, batch.shape, strict=True))
    expected = tuple(n if a in ("f", *space.coordinates) else 1 for a, n in lengths.items())
    aligned = jnp.asarray(u).reshape(len(u), *(1,) * len(equation.domain.names), -1)
    found = jnp.shape(space.at(aligned, *(batch.points[n] for n in space.coordinates)))
    require(
        found == expected,
        f"{who} of u {aligned.shape} at coordinates of shapes "
        f"{[batch.points[n].shape for n in space.coordinates]} has shape {found}, not {expected}.",
        "contract the last axis of u with functions of x on a new last axis: pio.contract(u @ matrix, basis(x)).",
    )


@check("equation", after="makes sampling sensors")
def smooth(subject: Subject) -> None:
    """u is as smooth between its sensors as the equation differentiates."""
    equation = subject.product
    space, u = equation.inputs, functions(equation)
    places = np.asarray(space.sensors, float).reshape(len(u[0]), -1)
    for k, name in enumerate(space.coordinates):
        c, order = equation.domain[name], _order(equation, name)
        spacing = c.length / max(len(np.unique(places[:, k])) - 1, 1)
        h = min(spacing / 4, c.length / 200)
        # At no sensor: there, derivatives of a piecewise polynomial are those of one side.
        stencil = Stencil(c.low + c.length * (np.arange(1, 12) / 12 + 0.0137), h * np.arange(-4, 5))
        values = _derivatives(equation, u, name, order, stencil)
        for n in range(1, order + 1):
            below = values[n - 1].reshape(len(u), len(stencil.places), -1)
            seen = below @ stencil.weights(1)
            told = values[n].reshape(len(u), len(stencil.places), -1)[:, :, 4]
            distance = gap(told, seen)
            require(
                distance < 0.1,
                f"the equation differentiates {order} times by {name}, but derivative {n} of {type(space).__name__}.at "
                f"by {name} differs by {distance:.2g} (relative) from differences of the one before it: u is not "
                "that smooth.",
                "read u through a global basis, as pio.GaussianField and pio.PeriodicField do, or through a spline of "
                f"degree {order + 2}, not piecewise linearly.",
            )


def _order(equation: Equation, coordinate: str) -> int:
    """How often anything is differentiated by a coordinate of u: an ansatz or a feature may contain u(x)."""
    k = equation.domain.names.index(coordinate)
    named = [equation.residual, *(c.residual for c in equation.conditions())]
    names = {n for function in named for n in asked(function)}
    return max(parse(n, equation.domain, (*equation.unknowns, "u")).orders[k] for n in names)


def _derivatives(
    equation: Equation, u: np.ndarray, name: str, order: int, stencil: Stencil
) -> list[np.ndarray]:
    """u(x) and its derivatives by plain automatic differentiation, at the nodes of a stencil."""
    domain, space = equation.domain, equation.inputs
    point = {
        c.name: jnp.asarray(
            stencil.nodes if c.name == name else np.full(1, c.low + 0.37 * c.length)
        ).reshape([-1 if a == c.name else 1 for a in domain.axes])
        for c in domain.coordinates
    }
    aligned = jnp.asarray(u).reshape(len(u), *(1,) * len(domain.names), -1)
    names = ["u", *("u_" + name * n for n in range(1, order + 1))]

    def values(p: Mapping[str, Any]) -> dict[str, Any]:
        return {"u": space.at(aligned, *(p[n] for n in space.coordinates))}

    found = compiled(lambda p: evaluate(values, p, domain, names, ["u"], "nested"))(point)
    return [np.asarray(found[n]).reshape(len(u), -1) for n in names]


@check("equation", after="makes sampling")
def spaces(subject: Subject) -> None:
    """Two of its function spaces are equal, so that reading u is compiled once."""
    equation = subject.product
    space = equation.inputs
    mend = (
        "make the function space a frozen dataclass of numbers, so that two with the same ones are equal, and `inputs` a "
        "cached_property."
    )
    try:
        other = subject.registry.make("equation", subject.name, subject.options).inputs
        same = hash(space) == hash(other) and space == other
    except TypeError as error:
        raise Failure(f"{type(space).__name__} cannot be hashed: {error}.", mend) from error
    require(
        same,
        f"{subject.noun}.inputs is another {type(space).__name__} for each {subject.noun}.",
        mend,
    )
    u = functions(equation, 2)
    places = np.asarray(space.sensors, float).reshape(len(u[0]), -1)
    try:
        read(space, u, *places.T)
    except Exception:
        return  # which is for `sensors` to tell
    before = _at._cache_size()  # type: ignore[attr-defined]
    read(other, u, *places.T)
    require(
        _at._cache_size() == before,  # type: ignore[attr-defined]
        f"{type(space).__name__}.at is compiled again at a second call with the same shapes.",
        mend,
    )
