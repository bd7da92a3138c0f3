"""Balanced gradients: each term's weight is the mean of all terms' gradient norms over its own.

Every term then pulls on the parameters equally hard (Wang, Teng and Perdikaris, 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

import pio


class BalancedState(NamedTuple):
    """The weight of each term, and how often they were measured."""

    weights: Mapping[str, Float[Array, ""]]
    measurements: Int[Array, ""]


@dataclass(frozen=True)
class Balanced:
    """A weight for each term, measured now and then and averaged over the measurements."""

    cadence: int = pio.option(100, "steps between measurements, each of which costs a gradient")
    memory: float = pio.option(0.9, "share of the old weights that survives a measurement")

    needs = frozenset({"norms"})

    def __post_init__(self) -> None:
        if self.cadence < 1 or not 0 <= self.memory < 1:
            raise pio.PioError(
                "weighting 'balanced' needs a cadence of at least 1 and a memory from 0 to below 1 "
                f"(got cadence = {self.cadence}, memory = {self.memory})."
            )

    def init(self, rows: Mapping[str, int]) -> BalancedState:
        return BalancedState({name: jnp.ones(()) for name in rows}, jnp.zeros((), jnp.int32))

    def update(
        self, state: BalancedState, residuals: pio.Residuals, **given: Any
    ) -> tuple[dict[str, Array], BalancedState]:
        def measured() -> BalancedState:
            ratios = _ratios(given["norms"](), state.weights)
            kept = jnp.where(state.measurements == 0, 0, self.memory)  # the first is taken whole
            weights = {
                name: kept.astype(w.dtype) * w + (1 - kept).astype(w.dtype) * ratios[name]
                for name, w in state.weights.items()
            }
            return BalancedState(weights, state.measurements + 1)

        state = jax.lax.cond(given["step"] % self.cadence == 0, measured, lambda: state)
        weights = {
            name: jnp.reshape(state.weights[name], (1,) * r.ndim).astype(r.dtype)
            for name, r in residuals.items()
        }
        return weights, state


def _ratios(norms: Mapping[str, Array], like: Mapping[str, Array]) -> dict[str, Array]:
    dtype = next(iter(like.values())).dtype
    info = np.finfo(dtype)
    # Small enough for their sum to be finite, whatever a diverging run makes of them.
    limit = float(info.max) / (2 * len(like))
    clean = {
        name: jnp.clip(
            jnp.nan_to_num(norm.astype(dtype), nan=limit, posinf=limit), float(info.tiny), limit
        )
        for name, norm in norms.items()
    }
    mean = sum(clean.values()) / len(clean)
    # A term whose gradient vanishes is solved, and needs no weight beyond all measure.
    return {name: mean / jnp.maximum(clean[name], 1e-5 * mean) for name in like}
