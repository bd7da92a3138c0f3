"""Checks of an equation's own members: its residual, its conditions, its ansatz, its features, its presets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from pio._batch import Batch
from pio._config import presets as all_presets
from pio._config import resolve
from pio._domain import Domain
from pio._equation import Condition
from pio._errors import PioError, suggestion
from pio._fields import asked, parse
from pio._guarantee import anything, missed
from pio._recipe import Recipe
from pio._train import model_of
from pio.testing._built import values
from pio.testing._check import Failure, Unfit, check, require
from pio.testing._plain import equipped
from pio.testing._pointwise import ELEMENTWISE, evaluated, require_ansatz
from pio.testing._subject import Subject
from pio.testing._try import block, flat, functions, gap, same_points


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
    _require_consults(subject)
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
                require(
                    name in domain.names,
                    f"condition {condition.name!r} of {who} is at {name} = {value:g}, but the coordinates are "
                    f"{', '.join(domain.names)}.",
                    f"put it at an end of one of these: pio.Condition({condition.name!r}, "
                    f"{{{domain.names[0]!r}: {domain.coordinates[0].low:g}}}, …).",
                )
                c = domain[name]
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


def _require_consults(subject: Subject) -> None:
    """What an ansatz asks for is there: the network, coordinates, u, and features of the equation."""
    equation = subject.product
    known = ["n", *equation.domain.names, "u", *getattr(equation, "features", {})]
    for name in asked(equation.ansatz) if hasattr(equation, "ansatz") else ():
        near = [k for k in known if k.lower() == name.lower()]
        hint = f"; did you mean {near[0]!r}?" if near else suggestion(name, known)
        require(
            name in known,
            f"{subject.noun}.ansatz asks for {name!r}{hint}",
            f"its parameters are some of {', '.join(known)}.",
        )


@check("equation", after="makes fields sampling sensors")
def broadcasts(subject: Subject) -> None:
    """Residual and conditions work point by point, whatever the layout of a batch."""
    equation = subject.product
    require_ansatz(subject)
    whole = block(equation, functions(equation))
    batches = {"block": whole, "pairs": flat(whole)}
    terms = {f"{subject.noun}.residual": equation.residual}
    terms |= {f"condition {c.name!r}": c.residual for c in equation.conditions()}
    for who, function in terms.items():
        found = {}
        for layout, batch in batches.items():
            found[layout] = evaluated(
                who, function, values(subject, layout), len(equation.unknowns)
            )
            for value in found[layout].values():
                fits = np.ndim(value) == len(batch.shape) and all(
                    n in (1, most) for n, most in zip(np.shape(value), batch.shape, strict=True)
                )
                require(
                    fits,
                    f"{who} has shape {np.shape(value)} at a {layout} batch of shape {batch.shape}.",
                    ELEMENTWISE,
                )
        for key, value in found["block"].items():
            distance = gap(*same_points(value, found["pairs"][key], whole))
            require(
                distance < 1e-6,
                f"{who} differs by {distance:.2g} (relative) between a block of functions × points and the same points "
                "as pairs, fewer of them: what it returns at a point depends on the others.",
                ELEMENTWISE,
            )


@dataclass(frozen=True)
class Around:
    """Periodic coordinates as angles: what any embedding has that makes solutions periodic."""

    def groups(self, domain: Domain) -> tuple[tuple[str, ...], ...]:
        return tuple((name,) for name in domain.periodic)

    def embed(self, domain: Domain, group: tuple[str, ...], *values: Any) -> Any:
        (name,), (x,) = group, values
        angle = 2 * np.pi * (x - domain[name].low) / domain[name].length
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1)


def _embeddings(subject: Subject) -> dict[str, Any]:
    """The embeddings that an ansatz may count on: those of the presets that train with it, and periodicity."""
    equation = subject.product
    found: dict[str, Any] = {"none": Around()}
    with contextlib.suppress(PioError):  # of which the check of presets complains
        for recipe in all_presets(equation).values():
            if recipe.constraints == "hard" and recipe.embedding is not None:
                made = subject.registry.make("embedding", *recipe.embedding)
                anything(equation, made, hard=True)
                found[recipe.embedding.name] = made
    return found


@check("equation", after="makes fields sampling sensors")
def ansatz(subject: Subject) -> None:
    """The ansatz meets every condition, whatever the network says, with the embedding of a preset."""
    equation = subject.product
    if not hasattr(equation, "ansatz"):
        raise Unfit("the equation has no ansatz, and trains with conditions in the loss")
    embeddings = _embeddings(subject)
    distances = [missed(anything(equation, made, hard=True)) for made in embeddings.values()]
    for condition in equation.conditions():
        distance = min(each[condition.name] for each in distances)
        face = ", ".join(f"{n} = {v:g}" for n, v in condition.at.items())
        named = [name for name in embeddings if name != "none"]
        require(
            distance < 1e-8,
            f"{subject.noun}.ansatz misses condition {condition.name!r} at {face} when the network n is any smooth "
            f"function{' of embedding ' + ' or '.join(named) if named else ''}: what should vanish there is "
            f"{distance:.2g} times what it is elsewhere.",
            _meets(condition),
        )


def _meets(condition: Condition) -> str:
    """How an ansatz meets a condition: not by a vanishing factor, if that is on a derivative across its face."""
    across = [
        n for n in asked(condition.residual) if set(n.partition("_")[2]) & set(condition.at) - {"t"}
    ]
    if across and condition.versus is None:
        return (
            f"for a condition on {across[0]}, leave the ansatz out, and train with conditions in the loss; or name an "
            "embedding that is flat there in the presets, cosine for no flux through both ends."
        )
    return (
        "let a factor before n vanish at that face, t at t = 0 or x (1 − x) at both ends, and let the rest meet the "
        "condition; or leave the ansatz out, and train with conditions in the loss."
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
