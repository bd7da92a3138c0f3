"""Checks of an embedding: which coordinates it takes, and what it makes of them."""

from __future__ import annotations

import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np

from pio._differences import Stencil
from pio._domain import Coordinate, Domain
from pio._errors import PioError
from pio._fields import evaluate
from pio.testing._check import Failure, Unfit, check, measured, require
from pio.testing._subject import Subject
from pio.testing._try import compiled, gap

CIRCLE = Domain(Coordinate("x", 1.0, 3.0, periodic=True), Coordinate("t"))
LINE = Domain(Coordinate("x", 1.0, 3.0), Coordinate("t"))
TORUS = Domain(Coordinate("x", periodic=True), Coordinate("y", -1.0, 1.0, True), Coordinate("t"))
PLACES = 100
DOMAINS = {"a circle": CIRCLE, "an interval": LINE, "a torus": TORUS}


@measured
def _groups(subject: Subject) -> dict[str, Any]:
    """The groups on each domain that it does not refuse."""
    found = {}
    for name, domain in DOMAINS.items():
        try:
            found[name] = subject.product.groups(domain)
        except PioError:
            continue
    return found


def _taken(subject: Subject) -> list[tuple[Domain, tuple[str, ...]]]:
    taken = [(DOMAINS[name], group) for name, own in _groups(subject).items() for group in own]
    if not taken:
        raise Unfit("it embeds no coordinate of a circle, an interval or a torus, each with a time")
    return taken


@check("embedding", after="makes")
def groups(subject: Subject) -> None:
    """Its groups are coordinates of the domain, each in one of them."""
    found = _groups(subject)
    if not found:
        raise Failure(
            f"{subject.noun}.groups refuses a circle, an interval and a torus.",
            "return the coordinates that are embedded together, () for none; raise a pio.PioError only where the "
            "embedding makes no sense.",
        )
    for name, own in found.items():
        names = DOMAINS[name].names
        flat = list(itertools.chain(*own)) if isinstance(own, tuple) else []
        require(
            isinstance(own, tuple)
            and all(isinstance(g, tuple) and g for g in own)
            and set(flat) <= set(names)
            and len(set(flat)) == len(flat),
            f"{subject.noun}.groups of {name} with coordinates {', '.join(names)} is {own!r}.",
            'return a tuple of tuples of names, each name once: (("x",), ("t",)), or (("x", "t"),) for both together.',
        )


@check("embedding", after="makes groups")
def aligned(subject: Subject) -> None:
    """Channels come on a new last axis, point by point, in the precision of the coordinates."""
    for domain, group in _taken(subject):
        rng = np.random.default_rng(0)
        for dtype in (jnp.float32, jnp.float64):
            axes = [
                tuple(3 + k if j == k else 1 for j in range(len(group))) for k in range(len(group))
            ]
            wide = tuple(3 + k for k in range(len(group)))
            blocks = [
                jnp.asarray(domain[n].low + domain[n].length * rng.uniform(size=shape), dtype)
                for n, shape in zip(group, axes, strict=True)
            ]
            pairs = [jnp.broadcast_to(b, wide).ravel() for b in blocks]
            one, other = (subject.product.embed(domain, group, *given) for given in (blocks, pairs))
            who = f"{subject.noun}.embed of ({', '.join(group)})"
            require(
                np.shape(one)[:-1] == wide and np.ndim(other) == 2,
                f"{who} has shape {np.shape(one)} at coordinates of shapes {axes}; {wide} and channels are meant.",
                "put channels on a new last axis: jnp.stack([…], -1), and let coordinates meet by broadcasting.",
            )
            require(
                one.dtype == dtype,
                f"{who} is {one.dtype} where coordinates are {jnp.dtype(dtype)}.",
                "turn NumPy constants into arrays of the type at hand: jnp.asarray(constant, x.dtype).",
            )
            require(
                jnp.isfinite(one).all(), f"{who} is not finite.", "look for a division by zero."
            )
            distance = gap(np.asarray(one).reshape(-1, one.shape[-1]), other)
            require(
                distance < 1e-5,
                f"{who} differs by {distance:.2g} (relative) between a grid and the same points as pairs.",
                "let what it returns at a point depend on that point alone.",
            )


def _stencil(c: Coordinate) -> Stencil:
    """Places with neighbours that reach halfway to the next: no kink lies between them unseen."""
    places = c.low + c.length * (np.arange(PLACES) + 0.5) / PLACES
    return Stencil(places, c.length / PLACES / 8 * np.arange(-4, 5))


@measured
def _derivatives(
    subject: Subject, domain: Domain, group: tuple[str, ...], name: str
) -> tuple[np.ndarray, ...]:
    """Channels along one coordinate of a group, at both ends and around some places; three derivatives."""
    c = domain[name]
    nodes = np.concatenate([[c.low, c.high], _stencil(c).nodes])
    fixed = {n: jnp.full((1,), domain[n].low + 0.4 * domain[n].length) for n in domain.names}
    names = ["v", *("v_" + name * k for k in (1, 2, 3))]

    def run(x: Any) -> dict[str, Any]:
        def channels(point: Any) -> dict[str, Any]:
            return {"v": subject.product.embed(domain, group, *(point[n] for n in group))}

        return evaluate(channels, {**fixed, name: x}, domain, names, ["v"], "nested")

    found = compiled(run)(jnp.asarray(nodes))
    return tuple(np.asarray(found[n]) for n in names)


@check("embedding", after="makes groups aligned")
def smooth(subject: Subject) -> None:
    """It can be differentiated three times."""
    for domain, group in _taken(subject):
        for name in group:
            weights = _stencil(domain[name]).weights(1)
            found = _derivatives(subject, domain, group, name)
            for order in (1, 2, 3):
                below = found[order - 1][2:].reshape(PLACES, 9, -1)
                seen = np.einsum("pkc,k->pc", below, weights)
                told = found[order][2:].reshape(PLACES, 9, -1)[:, 4]
                distance = gap(told, seen)
                require(
                    distance < 1e-2,
                    f"derivative {order} of {subject.noun}.embed by {name} differs by {distance:.2g} (relative) from "
                    "differences of the one before it.",
                    "use functions that are smooth everywhere: no abs, floor, where or piecewise polynomial.",
                )


@check("embedding", after="makes groups aligned")
def periodic(subject: Subject) -> None:
    """If it is for periodic coordinates alone, it cannot tell their two ends apart."""
    # One that takes an interval as well does not claim to make anything periodic.
    if _groups(subject).get("an interval"):
        raise Unfit("it embeds coordinates that are not periodic too")
    for domain, group in _taken(subject):
        for name in set(group) & set(domain.periodic):
            for order, values in enumerate(_derivatives(subject, domain, group, name)):
                distance = gap(values[0], values[1])
                require(
                    distance < 1e-6,
                    f"{subject.noun}.embed takes periodic coordinates alone, but derivative {order} by {name} at "
                    f"{name} = {domain[name].low:g} and {domain[name].high:g} differs by {distance:.2g} (relative).",
                    "use cos and sin of 2πk (x − low) / length with whole numbers k.",
                )
