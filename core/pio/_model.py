"""A model: an equation, an architecture and an embedding, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from pio._architecture import Architecture, Inputs, Network
from pio._batch import Batch
from pio._embedding import Embedding
from pio._equation import Equation
from pio._errors import PioError, suggestion
from pio._features import Feature, Reading, offered, reading
from pio._fields import Engine, asked, evaluate, parse
from pio._latents import Latents, meet

Params = Any


@dataclass(frozen=True)
class Model:
    """The learned operator u ↦ s as pure functions of its parameters.

    With `hard`, s is the equation's ansatz and meets its conditions exactly; else s is the
    network's output. With `centred`, the network sees u moved to a standard place on its circle, and x
    relative to it: an equation that is the same everywhere then need not be learned at every place.
    """

    equation: Equation
    architecture: Architecture
    embedding: Embedding
    hard: bool = False
    centred: bool = False
    engine: Engine = "taylor"

    def __post_init__(self) -> None:
        if self.hard and not hasattr(self.equation, "ansatz"):
            raise PioError(
                f"{type(self.equation).__name__} has no ansatz that meets its conditions exactly; "
                "train with soft constraints, or give it one."
            )
        if self.centred and not hasattr(self.equation.inputs, "centre"):
            raise PioError(
                "only periodic functions can be moved to a standard place; "
                f"{type(self.equation).__name__} draws others. Train with centred = false."
            )
        _ = self.plan  # an architecture that asks for what there is not is refused here

    @cached_property
    def plan(self) -> Mapping[str, Reading]:
        """What each subnetwork reads, and the axes it therefore runs over."""
        return {
            name: reading(tuple(wanted), self.equation.domain, self._offer, self.embedding)
            for name, wanted in self.architecture.reads.items()
        }

    @cached_property
    def _offer(self) -> Mapping[str, Feature]:
        own: Mapping[str, Feature] = getattr(self.equation, "features", {})
        return offered(self.equation.domain, self.equation.inputs, own)

    @cached_property
    def network(self) -> Network:
        return self.architecture.network(len(self.equation.unknowns))

    def init(self, key: PRNGKeyArray, dtype: Any = None) -> Params:
        """Fresh parameters, in the given precision."""
        u = jnp.zeros((1, len(self.equation.inputs.sensors)), dtype)
        domain = self.equation.domain
        point = {
            c.name: jnp.full((1,) * len(domain.axes), c.low, u.dtype) for c in domain.coordinates
        }
        return self.network.init(key, self._inputs(self._sensed(u), point))

    def apply(self, params: Params, batch: Batch) -> dict[str, Float[Array, "..."]]:
        """The unknowns at a batch, aligned on the domain's axes."""
        return self.fields(params, batch, self.equation.unknowns)

    def fields(
        self, params: Params, batch: Batch, names: Iterable[str]
    ) -> dict[str, Float[Array, "..."]]:
        """Unknowns, u and their derivatives by name: `s, s_xx, u_x, t…`."""
        names = tuple(names)
        quantities = (*self.equation.unknowns, "u")
        bases = {parse(n, self.equation.domain, quantities).base for n in names}
        values = evaluate(
            self.solution(params, batch.u, bases),
            batch.points,
            self.equation.domain,
            names,
            quantities,
            self.engine,
        )
        # What does not depend on a coordinate of the batch is as long there as the rest.
        unknowns = self.equation.unknowns
        return {
            n: jnp.broadcast_to(v, batch.shape) if n.partition("_")[0] in unknowns else v
            for n, v in values.items()
        }

    def residual(self, params: Params, batch: Batch) -> Any:
        """The equation's residual at a batch."""
        return self.evaluate(self.equation.residual, params, batch)

    def evaluate(self, function: Callable[..., Any], params: Params, batch: Batch) -> Any:
        """Any function of fields, called with those its parameters name."""
        return function(**self.fields(params, batch, asked(function)))

    def latents(self, params: Params, u: Float[Array, "f sensors"]) -> Callable[..., Any]:
        """The network's raw result as a function of the point."""
        sensed = self._sensed(u)
        if not self.centred:
            return lambda point: self.network.apply(params, self._inputs(sensed, point))
        inputs: Any = self.equation.inputs
        (name,) = inputs.coordinates
        moved, shift = inputs.centre(sensed)
        return lambda point: self.network.apply(
            params, self._inputs(moved, {**point, name: point[name] - shift})
        )

    def visited(self, params: Params, batch: Batch) -> tuple[tuple[int, ...], ...]:
        """The aligned shapes that the subnetworks run over at a batch."""
        raw = jax.eval_shape(lambda p, b: self.latents(p, b.u)(b.points), params, batch)
        if isinstance(raw, Latents):
            return tuple(side.hidden.shape[:-1] for side in raw)
        return (batch.shape,)

    def solution(
        self, params: Params, u: Float[Array, "f sensors"], wanted: Iterable[str] | None = None
    ) -> Callable[[Mapping[str, Array]], dict[str, Any]]:
        """A function of the point that returns the unknowns, and u(x) if it is wanted."""
        unknowns = self.equation.unknowns
        needed = set(wanted if wanted is not None else unknowns)
        network, local = self.latents(params, u), self.consult(u)

        def at(point: Mapping[str, Array]) -> dict[str, Any]:
            out: dict[str, Any] = {}
            if "u" in needed:
                out["u"] = local(point, ("u",))["u"]
            if needed & set(unknowns):
                raw = network(point)
                n = meet(raw, len(unknowns)) if isinstance(raw, Latents) else raw
                known = {**point, **local(point, self.consults)}
                out.update(zip(unknowns, self.constrain(n, known), strict=True))
            return out

        return at

    def constrain(
        self, n: tuple[Array, ...], known: Mapping[str, Array]
    ) -> tuple[Float[Array, "..."], ...]:
        """The unknowns from the network's outputs: by the ansatz if it is hard, else the same.

        `known` are the coordinates and what else the ansatz consults.
        """
        if not self.hard:
            return n
        given: dict[str, Any] = {**known, "n": n[0] if len(n) == 1 else n}
        s = self._ansatz(**{name: given[name] for name in asked(self._ansatz)})
        return s if isinstance(s, tuple) else (s,)

    @property
    def consults(self) -> tuple[str, ...]:
        """What the ansatz asks for beside the network and coordinates: `u`, or the equation's own features."""
        if not self.hard:
            return ()
        return tuple(n for n in asked(self._ansatz) if n not in ("n", *self.equation.domain.names))

    def consult(self, u: Float[Array, "f sensors"]) -> Callable[..., dict[str, Array]]:
        """A function of the point and of names that returns u(x), or features of one channel."""
        sensed = self._sensed(u)

        def at(point: Mapping[str, Array], names: Iterable[str]) -> dict[str, Array]:
            keys = {name: "u(x)" if name == "u" else name for name in names}
            unknown = keys.values() - self._offer.keys()
            if unknown:
                name = sorted(unknown)[0]
                raise PioError(f"the ansatz asks for {name!r}{suggestion(name, self._offer)}")
            return {n: self._offer[key].value(sensed, point)[..., 0] for n, key in keys.items()}

        return at

    @property
    def _ansatz(self) -> Callable[..., Any]:
        ansatz: Callable[..., Any] = self.equation.ansatz  # type: ignore[attr-defined]
        return ansatz

    def _sensed(self, u: Float[Array, "f sensors"]) -> Float[Array, "..."]:
        unit = (1,) * len(self.equation.domain.names)
        return jnp.reshape(u, (u.shape[0], *unit, *u.shape[1:]))

    def _inputs(self, u: Array, point: Mapping[str, Array]) -> Inputs:
        return {name: tuple(f.value(u, point) for f in r.features) for name, r in self.plan.items()}
