"""The loss: mean squares of what should vanish, weighted, with its gradient, in slices."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from pio._batch import Batch
from pio._errors import PioError, suggestion
from pio._guarantee import kept
from pio._jet import ranked
from pio._kernels import Kind, with_kernel
from pio._model import Model, Params
from pio._slices import in_slices, lengths, row_limit, value_and_grad_in_slices
from pio._weighting import Weighting


@dataclass(frozen=True)
class Term:
    """Something that should vanish at the points of a batch: a function of fields, maybe on a face."""

    name: str
    function: Callable[..., Any]
    at: Mapping[str, float]
    versus: Mapping[str, float] | None = None

    def residual(
        self, model: Model, params: Params, batch: Batch
    ) -> dict[str, Float[Array, "..."]]:
        """Its residuals by name. A system of equations has several."""
        here = model.evaluate(self.function, params, batch.at(**self.at))
        if self.versus is not None:
            there = model.evaluate(self.function, params, batch.at(**self.versus))
            here = jax.tree.map(jnp.subtract, here, there)
        return self.named(here, batch)

    def named(self, found: Any, batch: Batch) -> dict[str, Float[Array, "..."]]:
        """What the function returned, by name, less what it is to be there."""
        values = found if isinstance(found, Mapping) else {self.name: found}
        targets = batch.targets
        return {name: v - targets[name] if name in targets else v for name, v in values.items()}


DATA = "data"
"""The term that compares unknowns with what was measured."""


def data_names(unknowns: Sequence[str]) -> dict[str, str]:
    """What the residual of each measured unknown is called: `data`, or `data_s` if there are several."""
    if len(unknowns) == 1:
        return {unknowns[0]: DATA}
    return {name: f"{DATA}_{name}" for name in unknowns}


def data_term(unknowns: Sequence[str]) -> Term:
    """The unknowns themselves. Their targets come with the batch."""
    names = data_names(unknowns)

    def values(**fields: Array) -> dict[str, Array]:
        return {names[unknown]: value for unknown, value in fields.items()}

    asks = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in unknowns]
    values.__signature__ = inspect.Signature(asks)  # type: ignore[attr-defined]
    return Term(DATA, values, {})


def terms(model: Model) -> tuple[Term, ...]:
    """The residual, and the conditions that neither the ansatz nor the embedding makes hold."""
    own = Term("residual", model.equation.residual, {})
    return (own, *(Term(c.name, c.residual, c.at, c.versus) for c in kept(model)))


class Look(NamedTuple):
    """What one term finds at each point of its batch: residuals, and the kernel if the weighting needs it."""

    residual: Float[Array, "..."]
    kernel: Float[Array, "..."] | None


class Outcome(NamedTuple):
    """What an evaluation of the loss found: its value, mean squares by term, the weighting's next state."""

    loss: Float[Array, ""]
    squares: Mapping[str, Float[Array, ""]]
    weighting: Any


@dataclass(frozen=True)
class Loss:
    """Σ over terms of mean(w r²), where the weights w are held constant.

    `rows` bounds how many rows a network visits at a time; by default, what fits a processor's cache.
    `measured` are the unknowns that batches of the term `data` bring targets for.
    """

    model: Model
    weighting: Weighting
    rows: int | None = None
    measured: tuple[str, ...] = ()

    @cached_property
    def terms(self) -> Mapping[str, Term]:
        if not self.measured:
            return self.physics
        if DATA in self.physics:
            raise PioError(f"a condition is called {DATA!r}, as measurements are; rename it.")
        return {**self.physics, DATA: data_term(self.measured)}

    @cached_property
    def physics(self) -> Mapping[str, Term]:
        """The terms that need no measurements."""
        return {term.name: term for term in terms(self.model)}

    @property
    def note(self) -> str | None:
        """What a user who asked for hard constraints should know: which conditions are soft after all."""
        left = [name for name in self.physics if name != "residual"]
        if not self.model.hard or not left:
            return None
        return (
            f"neither the ansatz nor the embedding meets {_listed(left)} exactly; "
            f"{'this is a term' if len(left) == 1 else 'these are terms'} of the loss"
        )

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """The term that each residual belongs to. A system of equations has several in one."""
        domain = self.model.equation.domain

        def residuals(key: PRNGKeyArray, term: Term) -> dict[str, Array]:
            params = self.model.init(key)
            u = jnp.zeros((1, len(self.model.equation.inputs.sensors)))
            point = {c.name: jnp.full((1,), c.low, u.dtype) for c in domain.coordinates}
            return term.residual(self.model, params, Batch.pairs(u, **point))

        return {
            name: term.name
            for term in self.terms.values()
            for name in jax.eval_shape(partial(residuals, term=term), jax.random.key(0))
        }

    @property
    def kernel(self) -> Kind | None:
        """The kernel that the weighting needs the diagonal of."""
        kinds: tuple[Kind, ...] = ("ck", "ntk")
        return next((kind for kind in kinds if kind in self.weighting.needs), None)

    @property
    def _seldom(self) -> bool:
        """Whether the kernel is only needed at some steps, and better found in a pass of its own then."""
        return self.kernel is not None and getattr(self.weighting, "cadence", 1) > 1

    def value_and_grad(
        self,
        params: Params,
        state: Any,
        batches: Mapping[str, Batch],
        step: Array | int = 0,
        rows: Mapping[str, Array] | None = None,
    ) -> tuple[Outcome, Params]:
        """The loss of the terms that batches are given for, and its gradient.

        Weights that depend on residuals are found first: in the same pass if each batch is a single
        slice, else in a pass of their own, forward only. `rows` tells which rows of frozen tables the
        batches are.
        """
        if unknown := sorted(batches.keys() - self.terms.keys()):
            raise PioError(
                f"the loss has no term {unknown[0]!r}{suggestion(unknown[0], self.terms)}"
            )
        batches = {name: batch.at(**self.terms[name].at) for name, batch in batches.items()}
        sizes = {name: self._size(params, batch) for name, batch in batches.items()}
        given = {"step": step, "rows": rows, "owners": self.owners}
        weigh = partial(self._weigh, params, state, batches, sizes, given)
        if all(size == batches[name].shape for name, size in sizes.items()):
            return self._at_once(params, batches, weigh)
        weights, after = jax.lax.stop_gradient(weigh(self._looks(params, batches, sizes)))
        shares = [
            self._gradient(name, params, batch, sizes[name], weights)
            for name, batch in batches.items()
        ]
        squares = {key: mean for (_, own), _ in shares for key, mean in own.items()}
        slope = jax.tree.map(lambda *parts: _total(parts), *(grad for _, grad in shares))
        return Outcome(_total([part for (part, _), _ in shares]), squares, after), slope

    def _at_once(
        self, params: Params, batches: Mapping[str, Batch], weigh: Callable[..., Any]
    ) -> tuple[Outcome, Params]:
        def total(params: Params) -> tuple[Array, Outcome]:
            looks: dict[str, Look] = {}
            for name, batch in batches.items():
                kind = None if self._seldom else self.kernel
                looks.update(self._look(name, params, batch, kind))
            weights, after = jax.lax.stop_gradient(weigh(jax.lax.stop_gradient(looks)))
            squares = {key: look.residual**2 for key, look in looks.items()}
            loss = _total([jnp.mean(weights[key] * square) for key, square in squares.items()])
            means = {key: jnp.mean(square) for key, square in squares.items()}
            return loss, Outcome(loss, means, after)

        slope, outcome = jax.grad(total, has_aux=True)(params)
        return outcome, slope

    def _gradient(
        self,
        name: str,
        params: Params,
        batch: Batch,
        size: tuple[int, ...],
        weights: Mapping[str, Array] | None,
    ) -> tuple[tuple[Array, dict[str, Array]], Params]:
        """One term's share of the loss, in slices; every weight one if none are given."""
        count = math.prod(batch.shape)

        def part(params: Params, batch: Batch, present: Array, weights: Any) -> tuple[Array, Any]:
            residuals = self.terms[name].residual(self.model, params, batch)
            squares = {key: present * r**2 for key, r in residuals.items()}
            weighted = [sq if weights is None else weights[key] * sq for key, sq in squares.items()]
            return _total([jnp.sum(sq) for sq in weighted]) / count, squares

        own = None
        if weights is not None:
            keys = jax.eval_shape(partial(self._look, name), params, batch)
            own = {key: ranked(weights[key], len(batch.shape)) for key in keys}
        (value, squares), slope = value_and_grad_in_slices(part, size, params, batch, own)
        return (value, {key: jnp.mean(sq) for key, sq in squares.items()}), slope

    def _look(
        self, name: str, params: Params, batch: Batch, kind: Kind | None = None
    ) -> dict[str, Look]:
        term = self.terms[name]
        if kind is None:
            residuals = term.residual(self.model, params, batch)
            return {key: Look(r, None) for key, r in residuals.items()}
        versus = None if term.versus is None else batch.at(**term.versus)
        found, kernel = with_kernel(self.model, params, term.function, batch, kind, versus)
        kernels = kernel if isinstance(kernel, Mapping) else {name: kernel}
        return {key: Look(r, kernels[key]) for key, r in term.named(found, batch).items()}

    def _looks(
        self, params: Params, batches: Mapping[str, Batch], sizes: Mapping[str, tuple[int, ...]]
    ) -> dict[str, Look]:
        """All terms' residuals, or their shapes alone if weights do not depend on them."""
        looks: dict[str, Look] = {}
        indifferent = {"inputs", "norms", *({self.kernel} if self._seldom else ())}
        for name, batch in batches.items():
            look = partial(self._look, name, params, kind=None if self._seldom else self.kernel)
            if self.weighting.needs - indifferent:
                looks.update(in_slices(look, sizes[name], batch))
            else:
                shapes = jax.eval_shape(look, batch)
                looks.update(jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes))
        return looks

    def _weigh(
        self,
        params: Params,
        state: Any,
        batches: Mapping[str, Batch],
        sizes: Mapping[str, tuple[int, ...]],
        given: Mapping[str, Any],
        looks: Mapping[str, Look],
    ) -> tuple[Mapping[str, Array], Any]:
        def norms() -> dict[str, Array]:
            found = {
                name: optax.tree.norm(self._gradient(name, params, batch, sizes[name], None)[1])
                for name, batch in batches.items()
            }
            return {key: found[self.owners[key]] for key in looks}

        def kernels() -> dict[str, Array]:
            found: dict[str, Look] = {}
            for name, batch in batches.items():
                look = partial(self._look, name, params, kind=self.kernel)
                found.update(in_slices(look, sizes[name], batch))
            return {
                key: jax.lax.stop_gradient(look.kernel)
                for key, look in found.items()
                if look.kernel is not None
            }

        # Points that are drawn afresh belong to no row.
        rows = given["rows"] or {}
        return self.weighting.update(
            state,
            {key: look.residual for key, look in looks.items()},
            kernels=kernels if self._seldom else {key: look.kernel for key, look in looks.items()},
            norms=norms,
            points={key: batches[self.owners[key]].points for key in looks},
            inputs={key: batches[self.owners[key]].u for key in looks},
            **{
                **given,
                "rows": {key: rows[term] for key in looks if (term := self.owners[key]) in rows},
            },
        )

    def _size(self, params: Params, batch: Batch) -> tuple[int, ...]:
        rows = self.rows
        if rows is None:
            width = max(
                (leaf.shape[-1] for leaf in jax.tree.leaves(params) if leaf.ndim), default=1
            )
            rows = row_limit(width, batch.u.dtype)
        return lengths(batch, self.model.visited(params, batch), rows)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"condition {name!r}" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]


def _total(parts: Sequence[Array]) -> Array:
    return sum(parts[1:], parts[0])
