"""Causal weights: residuals at a time count once those before it are small (Wang, Sankaran and Perdikaris, 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pio


class CausalState(NamedTuple):
    """How strict causality is at present."""

    epsilon: Float[Array, ""]


@dataclass(frozen=True)
class Causal:
    """With L_i the mean square of the residual in the i-th part of the time, its weight is
    exp(−ε Σ_{j<i} L_j).

    ε grows when all of the time is resolved, and shrinks when most of it is ignored. Conditions
    have a constant weight.
    """

    parts: int = pio.option(16, "intervals into which the time is cut")
    epsilon: float = pio.option(1.0, "strictness ε at first")
    condition: float = pio.option(1.0, "weight of every condition")

    needs = frozenset({"points"})

    def __post_init__(self) -> None:
        if self.parts < 2 or not self.epsilon > 0 or not self.condition > 0:
            raise pio.PioError(
                "weighting 'causal' needs at least two parts, epsilon > 0 and condition > 0 (got "
                f"parts = {self.parts}, epsilon = {self.epsilon}, condition = {self.condition})."
            )

    def init(self, rows: Mapping[str, int]) -> CausalState:
        del rows
        return CausalState(jnp.full((), self.epsilon, jnp.result_type(float)))

    def update(
        self, state: CausalState, residuals: pio.Residuals, **given: Any
    ) -> tuple[dict[str, Array], CausalState]:
        owners = given.get("owners", {})
        own = [name for name in residuals if owners.get(name, name) == "residual"]
        points = given["points"][own[0]]
        if "t" not in points:
            raise pio.PioError(
                "weighting 'causal' follows the time t, and this equation has none; "
                "use --weighting balanced."
            )
        dtype = state.epsilon.dtype
        part = self._part(points["t"])
        means = [self._means(residuals[name].astype(dtype), part) for name in own]
        loss = sum(means[1:], means[0])
        past = jnp.cumsum(loss) - loss
        share = jnp.exp(-state.epsilon * past)
        strict = jnp.where(jnp.min(share) > 0.99, 5.0, 1.0)
        lenient = jnp.where(jnp.mean(share) < 0.2, 0.2, 1.0)
        epsilon = jnp.clip(state.epsilon * strict * lenient, 1e-6, 1e6).astype(dtype)
        # What is ignored is not forgotten: a weight of zero could never be revised in some batches.
        local = jnp.maximum(share, 1e-6)[part]
        weights = {
            name: local.astype(r.dtype)
            if name in own
            else jnp.full((1,) * r.ndim, self.condition, r.dtype)
            for name, r in residuals.items()
        }
        return weights, CausalState(epsilon)

    def _part(self, t: Array) -> Array:
        low, high = jnp.min(t), jnp.max(t)
        span = jnp.where(high > low, high - low, 1)
        return jnp.clip((t - low) / span * self.parts, 0, self.parts - 1).astype(jnp.int32)

    def _means(self, r: Array, part: Array) -> Array:
        """The mean square in each part; zero where the batch has no point."""
        limit = (float(np.finfo(r.dtype).max) / self.parts / r.size) ** 0.5 / 2
        bounded = jnp.nan_to_num(r, nan=limit, posinf=limit, neginf=-limit)
        square = jnp.ravel(jnp.clip(bounded, -limit, limit) ** 2)
        label = jnp.ravel(jnp.broadcast_to(part, r.shape))
        total = jnp.zeros(self.parts, r.dtype).at[label].add(square)
        count = jnp.zeros(self.parts, r.dtype).at[label].add(1)
        return total / jnp.maximum(count, 1)
