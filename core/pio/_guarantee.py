"""A guarantee: that a condition holds whatever the network computes, by ansatz or embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from pio._architecture import Inputs, Network
from pio._batch import Batch
from pio._embedding import Embedding
from pio._equation import Condition, Equation
from pio._model import Model
from pio._space import draw

# What a condition may be off and still be said to hold: rounding in double precision, of derivatives too.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Anything:
    """A network that might be any: random waves of all that another architecture reads."""

    reads: Mapping[str, tuple[str, ...]]

    def network(self, outputs: int) -> Network:
        def init(key: PRNGKeyArray, inputs: Inputs) -> dict[str, Array]:
            del key, inputs
            return {}

        def apply(params: Any, inputs: Inputs) -> tuple[Array, ...]:
            del params
            rng = np.random.default_rng(0)
            features = [feature for own in inputs.values() for feature in own]
            # Waves and no tanh, which is flat, and so meets conditions, where its argument is large.
            waves = [jnp.asarray(rng.normal(), features[0].dtype)] * outputs
            for feature in features:
                weights = rng.normal(size=(feature.shape[-1], outputs)) / feature.shape[-1] ** 0.5
                phases = feature @ jnp.asarray(3 * weights, feature.dtype)
                waves = [wave + phases[..., k] for k, wave in enumerate(waves)]
            return tuple(map(jnp.sin, waves))

        return Network(init, apply)


PLAIN = {"branch": ("u",), "trunk": ("t", "x")}
"""What the plainest network reads."""


def anything(equation: Equation, embedding: Embedding, hard: bool) -> Model:
    """An equation with a network that might be any of those that read u, t and x."""
    return Model(equation, Anything(PLAIN), embedding, hard)


@lru_cache(maxsize=64)
def missed(model: Model) -> Mapping[str, float]:
    """How far each condition is from holding whatever the network computes; 0 or rounding where it does hold.

    A random network is put in place of the model's, with the same ansatz, embedding and features, and what
    a condition finds at its face is divided by what it finds inside the domain. So it is the map that
    is tried, not what anyone says of it.
    """
    conditions = model.equation.conditions()
    if not model.hard and not model.embedding.groups(model.equation.domain):
        return {c.name: 1.0 for c in conditions}  # nothing is there that could meet one
    if not conditions:
        return {}
    tried = replace(model, architecture=Anything(model.architecture.reads))
    domain = model.equation.domain

    def look(u: Array, points: Mapping[str, Array]) -> dict[str, tuple[Array, Array]]:
        batch = Batch.block(u, **{name: points[name] for name in domain.names})
        return {c.name: _seen(tried, c, batch) for c in conditions}

    with jax.enable_x64(True):
        with jax.ensure_compile_time_eval():  # at once, even while a step is being traced
            u = np.asarray(draw(model.equation.inputs, jax.random.key(0), 2), np.float64)
        points = {
            c.name: c.low + c.length * (np.arange(3) + 0.37) / 3.3 for c in domain.coordinates
        }
        # Compiled as one program and called: as single operations, compiled one by one, it takes longer.
        # Without optimisation, since it runs once.
        quick = jax.jit(look, compiler_options={"xla_backend_optimization_level": 0})
        program = quick.lower(u, points).compile()
        found = jax.device_get(program(u, points))
    return {c.name: _ratio(*found[c.name]) for c in conditions}


def _seen(model: Model, condition: Condition, batch: Batch) -> tuple[Any, Any]:
    """The largest residual of a condition where it should hold, and elsewhere."""
    here = model.evaluate(condition.residual, {}, batch.at(**condition.at))
    inside = model.evaluate(condition.residual, {}, batch)
    if condition.versus is None:
        return _largest(here), _largest(inside)
    there = model.evaluate(condition.residual, {}, batch.at(**condition.versus))
    return (
        _largest(jax.tree.map(jnp.subtract, here, there)),
        _largest(jax.tree.map(jnp.subtract, here, inside)),
    )


def _largest(values: Any) -> Array:
    return jnp.stack([jnp.abs(leaf).max() for leaf in jax.tree.leaves(values)]).max()


def _ratio(there: Any, elsewhere: Any) -> float:
    if there == 0:
        return 0.0
    ratio = float(there) / float(elsewhere) if elsewhere > 0 else float("inf")
    return ratio if np.isfinite(ratio) else float("inf")


def kept(model: Model) -> tuple[Condition, ...]:
    """The conditions that nothing makes hold, so that they have to be terms of the loss."""
    distances = missed(model)
    return tuple(c for c in model.equation.conditions() if distances[c.name] > ROUNDING)
