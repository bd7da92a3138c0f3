"""Checks of an equation's own members: its residual, its conditions, its ansatz, its features, its presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pio._batch import Batch
from pio._config import resolve
from pio._domain import Domain
from pio._errors import PioError
from pio._fields import asked, evaluate, parse
from pio._recipe import Recipe
from pio._train import model_of
from pio.testing._built import model, values
from pio.testing._check import Failure, Unfit, blame, check, require
from pio.testing._plain import equipped
from pio.testing._subject import Subject
from pio.testing._try import block, compiled, flat, functions, gap, parts, same_points


@check("equation", after="makes")
def fields(subject: Subject) -> None:
    """Residual and conditions name fields that there are, at faces that there are."""
    equation = subject.product
    domain, unknowns = equation.domain, equation.unknowns
    who = subject.noun
    require(
        isinstance(unknowns, tuple) and unknowns and len(set(unknowns)) == len(unknowns),
        f"{who}.unknowns is {unknowns!r}.",
        'name each unknown once, in a tuple: unknowns = ("s",).',
    )
    for s in unknowns:
        require(
            s.isidentifier() and "_" not in s and s not in (*domain.names, "u", "n", "f"),
            f"{who} has an unknown called {s!r}.",
            "use a name without underscores that is no coordinate, nor u, n or f: s, p, q, …",
        )
    require(
        set(equation.grid) == set(domain.names),
        f"{who}.grid has {', '.join(equation.grid)}, but the coordinates are {', '.join(domain.names)}.",
        "give one increasing array per coordinate, where test solutions are compared.",
    )
    named = {"residual": equation.residual}
    for condition in equation.conditions():
        require(
            condition.name not in (*named, "data"),
            f"{who} has two terms called {condition.name!r}, or one called as the loss's own.",
            "give each condition a name of its own, other than residual and data.",
        )
        named[condition.name] = condition.residual
        for face in filter(None, (condition.at, condition.versus)):
            for name, value in face.items():
                c = domain[name]  # which refuses coordinates that there are not
                require(
                    value in (c.low, c.high),
                    f"condition {condition.name!r} of {who} is at {name} = {value:g}, but {name} runs from "
                    f"{c.low:g} to {c.high:g}.",
                    "put conditions at the ends of coordinates.",
                )
    for term, function in named.items():
        what = f"{who}.residual" if term == "residual" else f"condition {term!r} of {who}"
        for name in asked(function):
            try:
                parse(name, domain, (*unknowns, "u"))
            except PioError as error:
                raise Failure(
                    f"{what} asks for {name!r}: {error}",
                    "parameters are an unknown or u, with an underscore and one letter per derivative (s_xxt), or a "
                    "coordinate.",
                ) from error


def _evaluated(who: str, function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function makes of fields, or a failure that shows their shapes."""
    try:
        return parts(function(**{name: given[name] for name in asked(function)}))
    except Exception as error:
        shapes = ", ".join(f"{n} {jnp.shape(given[n])}" for n in asked(function))
        raise Failure(
            f"{who} raised {blame(error)} with fields of shapes {shapes}.", _ELEMENTWISE
        ) from error


_ELEMENTWISE = (
    "fields are aligned on the domain's axes, of length one where they do not vary; use arithmetic that broadcasts, "
    "point by point, and no index, sum or matrix product."
)


@check("equation", after="makes fields sampling sensors")
def broadcasts(subject: Subject) -> None:
    """Residual and conditions work point by point, whatever the layout of a batch."""
    equation = subject.product
    whole = block(equation, functions(equation))
    batches = {"block": whole, "pairs": flat(whole)}
    terms = {f"{subject.noun}.residual": equation.residual}
    terms |= {f"condition {c.name!r}": c.residual for c in equation.conditions()}
    for who, function in terms.items():
        found = {}
        for layout, batch in batches.items():
            found[layout] = _evaluated(who, function, values(subject, layout))
            for value in found[layout].values():
                fits = np.ndim(value) == len(batch.shape) and all(
                    n in (1, most) for n, most in zip(np.shape(value), batch.shape, strict=True)
                )
                require(
                    fits,
                    f"{who} has shape {np.shape(value)} at a {layout} batch of shape {batch.shape}.",
                    _ELEMENTWISE,
                )
        for key, value in found["block"].items():
            distance = gap(*same_points(value, found["pairs"][key], whole))
            require(
                distance < 1e-6,
                f"{who} differs by {distance:.2g} (relative) between a block of functions × points and the same points "
                "as pairs, fewer of them: what it returns at a point depends on the others.",
                _ELEMENTWISE,
            )


def _network(key: jax.Array, domain: Domain, size: float = 10.0) -> Callable[..., Any]:
    """A random smooth function of the coordinates, periodic where they are."""
    weights = jax.random.normal(key, (4, 2 * len(domain.names)))

    def n(point: Mapping[str, Any]) -> Any:
        turned: list[Any] = []
        for c in domain.coordinates:
            share = (point[c.name] - c.low) / c.length
            angle = 2 * jnp.pi * share
            turned += [jnp.cos(angle), jnp.sin(angle)] if c.periodic else [share, share + 1]
        waves = [jnp.tanh(sum(w * z for w, z in zip(row, turned, strict=True))) for row in weights]
        return size * sum(waves[1:], waves[0])

    return n


@check("equation", after="makes fields sampling sensors")
def ansatz(subject: Subject) -> None:
    """The ansatz meets every condition, whatever the network says."""
    equation = subject.product
    if not hasattr(equation, "ansatz"):
        raise Unfit("the equation has no ansatz, and trains with conditions in the loss")
    m, domain = model(subject), equation.domain
    u = jnp.asarray(functions(equation))
    networks = [
        _network(key, domain) for key in jax.random.split(jax.random.key(2), len(equation.unknowns))
    ]
    consult = m.consult(u)

    def solution(point: Mapping[str, Any]) -> dict[str, Any]:
        known = {**point, **consult(point, (*m.consults, "u"))}
        s = m.constrain(tuple(n(point) for n in networks), known)
        return {**dict(zip(equation.unknowns, s, strict=True)), "u": known["u"]}

    def sides(whole: Batch) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for condition in equation.conditions():
            names = asked(condition.residual)
            for face in filter(None, (condition.at, condition.versus)):
                point = whole.at(**face).points
                quantities = (*equation.unknowns, "u")
                given = evaluate(solution, point, domain, names, quantities, "nested")
                value = _evaluated(f"condition {condition.name!r}", condition.residual, given)
                found.setdefault(condition.name, []).append(value)
        return found

    whole = block(equation, u, counts=(7,) * len(domain.names))
    found = compiled(sides)(whole)
    for condition in equation.conditions():
        one, *others = found[condition.name]
        for key, value in one.items():
            other = others[0][key] if others else jnp.zeros(())
            scale = max(1.0, float(jnp.abs(value).max())) if others else 1.0
            distance = float(jnp.abs(value - other).max() / scale)
            face = ", ".join(f"{n} = {v:g}" for n, v in condition.at.items())
            require(
                distance < 1e-8,
                f"{subject.noun}.ansatz misses condition {condition.name!r} at {face} by {distance:.2g} when the "
                "network n is any smooth function.",
                "let a factor before n vanish at that face, t at t = 0 or x (1 − x) at both ends, and let the rest meet "
                "the condition; or leave the ansatz out, and train with conditions in the loss.",
            )


@check("equation", after="makes sampling")
def features(subject: Subject) -> None:
    """Every feature of its own varies along the axes it names, and along no other."""
    equation = subject.product
    own = getattr(equation, "features", {})
    if not own:
        raise Unfit("the equation offers no features of its own")
    domain, u = equation.domain, functions(equation)
    whole = block(equation, u)
    lengths = dict(zip(domain.axes, whole.shape, strict=True))
    aligned = jnp.asarray(u).reshape(len(u), *(1,) * len(domain.names), -1)
    for name, feature in own.items():
        who = f"feature {name!r} of {subject.noun}"
        value = feature.value(aligned, whole.points)
        shape = tuple(n if a in feature.axes else 1 for a, n in lengths.items())
        require(
            np.ndim(value) == len(shape) + 1,
            f"{who} has shape {np.shape(value)}; (…, channels) on the axes ({', '.join(domain.axes)}) has "
            f"{len(shape) + 1} numbers.",
            "keep the aligned axes and put channels last: value[..., None] for one channel.",
        )
        require(
            jnp.isfinite(value).all(),
            f"{who} is not finite.",
            "look for a division by zero within the domain.",
        )
        varies = [a for a in domain.axes if _varies(feature.value, aligned, whole, a)]
        hidden, idle = (
            set(a) - set(b) for a, b in ((varies, feature.axes), (feature.axes, varies))
        )
        require(
            not hidden,
            f"{who} declares the axes {feature.axes}, but varies along {' and '.join(sorted(hidden))} too: networks "
            "would see it at one point for all.",
            f"declare pio.Feature({tuple(varies)}, …).",
        )
        require(
            not idle,
            f"{who} declares the axes {feature.axes}, but does not vary along {' and '.join(sorted(idle))}: networks "
            "would be evaluated there for nothing.",
            f"declare pio.Feature({tuple(varies)}, …).",
        )
        require(
            np.shape(value)[:-1] == shape,
            f"{who} has shape {np.shape(value)} at a batch of shape {whole.shape}; with the axes {feature.axes} it "
            f"should be {shape} and channels.",
            "keep length one along axes that it does not vary along.",
        )


def _varies(value: Callable[..., Any], u: Any, batch: Batch, axis: str) -> bool:
    """Whether a feature changes when one axis alone is changed, elsewhere kept."""
    points = dict(batch.points)
    if axis == "f":
        moved = value(u[::-1] * 1.1, points)
    else:
        moved = value(u, {**points, axis: points[axis] * 0.9 + 0.013})
    return gap(value(u, points), moved) > 1e-9


@check("equation", after="makes fields")
def presets(subject: Subject) -> None:
    """Every preset names what there is, and makes a model."""
    own = getattr(subject.product, "presets", None)
    if not own:
        raise Unfit("the equation has no presets of its own, so plain ones serve")
    for name, recipe in own.items():
        require(
            isinstance(recipe, Recipe),
            f"preset {name!r} of {subject.noun} is {type(recipe).__name__}.",
            "make it a pio.Recipe.",
        )
        registry, chosen = equipped(subject)
        try:
            model_of(resolve(registry, config={**chosen, "preset": name}), registry)
        except PioError as error:
            raise Failure(
                f"preset {name!r} of {subject.noun} cannot be used: {error}",
                "name plugins, options, coordinates and conditions that there are.",
            ) from error
