"""Features: the quantities a subnetwork may read, each with the axes it varies along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
from jaxtyping import Array, Float

from pio._domain import Domain
from pio._embedding import Embedding
from pio._errors import PioError, suggestion
from pio._space import FunctionSpace

Point = Mapping[str, Float[Array, "..."]]


@dataclass(frozen=True)
class Feature:
    """A quantity aligned on the domain's axes, its channels last.

    `axes` names the axes it varies along, out of `f` and the coordinates; `value(u, point)` takes u
    as `(f, 1, …, 1, sensors)` and the coordinates aligned, and returns `(…, channels)`.
    """

    axes: tuple[str, ...]
    value: Callable[[Float[Array, "... sensors"], Point], Float[Array, "... channels"]]
    summary: str = ""


def place(domain: Domain) -> tuple[str, ...]:
    """The space coordinates: all but time."""
    return tuple(n for n in domain.names if n != "t")


def offered(
    domain: Domain, inputs: FunctionSpace, own: Mapping[str, Feature] | None = None
) -> dict[str, Feature]:
    """Every feature by name, beside the coordinates: those any equation has, and its own."""
    where = place(domain)
    coordinates = tuple(getattr(inputs, "coordinates", where))

    def local(u: Array, point: Point) -> Array:
        return inputs.at(u, *(point[c] for c in coordinates))[..., None]

    features = {
        "u": Feature(("f",), lambda u, point: u, "u on its sensors"),
        "u(x)": Feature(("f", *coordinates), local, "u where the solution is asked for"),
    }
    coefficients = getattr(inputs, "coefficients", None)
    if coefficients is not None:
        features["û"] = Feature(
            ("f",), lambda u, point: coefficients(u), "leading Fourier coefficients of u"
        )
    features["u(x+δ)"] = Feature(
        ("f", *coordinates), _nearby(domain, inputs, coordinates), "u around that place"
    )
    return {**features, **(own or {})}


NEIGHBOURS = (-0.1, -0.05, 0.0, 0.05, 0.1)
"""Offsets δ of the feature `u(x+δ)`, as shares of each coordinate's length."""


def _nearby(
    domain: Domain, inputs: FunctionSpace, coordinates: tuple[str, ...]
) -> Callable[..., Array]:
    def value(u: Array, point: Point) -> Array:
        channels = []
        for name in coordinates:
            c = domain[name]
            for delta in NEIGHBOURS:
                moved = dict(point)
                moved[name] = point[name] + delta * c.length
                if not c.periodic:  # u is known on the domain only
                    moved[name] = jnp.clip(moved[name], c.low, c.high)
                channels.append(inputs.at(u, *(moved[k] for k in coordinates)))
        return jnp.stack(channels, -1)

    return value


@dataclass(frozen=True)
class Reading:
    """What one subnetwork reads, in order, once coordinates are expanded and embedded."""

    names: tuple[str, ...]
    axes: tuple[str, ...]
    features: tuple[Feature, ...]


def reading(
    wanted: tuple[str, ...], domain: Domain, offer: Mapping[str, Feature], embedding: Embedding
) -> Reading:
    """The features behind the names an architecture wants for one subnetwork."""
    coordinates = [c for name in wanted for c in _coordinates(name, domain)]
    groups = [g for g in embedding.groups(domain) if set(g) <= set(coordinates)]
    names: list[str] = []
    features: list[Feature] = []

    def add(name: str, feature: Feature) -> None:
        if name not in names:
            names.append(name)
            features.append(feature)

    for name in wanted:
        for c in _coordinates(name, domain):
            group = next((g for g in groups if c in g), None)
            if group is None:
                add(c, Feature((c,), partial(_itself, c)))
            else:
                add(f"φ({','.join(group)})", Feature(group, _embedded(embedding, domain, group)))
        if not _is_coordinate(name, domain):
            if name not in offer:
                raise PioError(_missing(name, domain, offer))
            add(name, offer[name])
    varies = {a for f in features for a in f.axes}
    return Reading(tuple(names), tuple(a for a in domain.axes if a in varies), tuple(features))


def _missing(name: str, domain: Domain, offer: Mapping[str, Feature]) -> str:
    if name == "û":
        others = ", ".join(f"{n!r} ({f.summary})" for n, f in offer.items() if n.startswith("u"))
        return (
            "feature 'û', the leading Fourier coefficients of u, exists only where u is periodic, and the "
            f"input functions of this equation are not; a subnetwork may read {others} instead."
        )
    return f"no feature named {name!r}{suggestion(name, [*offer, *domain.names])}"


def _is_coordinate(name: str, domain: Domain) -> bool:
    return name in ("x", "t") or name in domain.names


def _coordinates(name: str, domain: Domain) -> tuple[str, ...]:
    """`x` is the place, whatever its dimension; `t` is nothing where nothing depends on time."""
    if name == "x":
        return place(domain)
    return (name,) if name in domain.names else ()


def _itself(name: str, u: Array, point: Point) -> Array:
    del u
    return point[name][..., None]


def _embedded(embedding: Embedding, domain: Domain, group: tuple[str, ...]) -> Callable[..., Array]:
    return lambda u, point: embedding.embed(domain, group, *(point[c] for c in group))
