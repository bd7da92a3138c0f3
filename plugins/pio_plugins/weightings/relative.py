"""Weights by the size of u: w = 1 / (floor + ⟨u²⟩ / m), with m the mean of ⟨u²⟩ over the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class Relative:
    """Every function counts about alike, however large it is.

    Errors are measured relative to the size of each solution, residuals are not: where solutions are
    proportional to u, and steeper for larger u, a plain mean is a mean over the largest functions.
    """

    floor: float = pio.option(0.25, "what is added to the relative size of u")
    causality: float = pio.option(0.0, "how strictly a function's times wait for earlier ones")

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"inputs", "points"} if self.causality else {"inputs"})

    def __post_init__(self) -> None:
        if not (self.floor > 0 and self.causality >= 0):
            raise pio.PioError(
                "weighting 'relative' needs a floor > 0 and a causality ≥ 0 "
                f"(got floor = {self.floor}, causality = {self.causality})."
            )

    def init(self, rows: Mapping[str, int]) -> tuple[()]:
        del rows
        return ()

    def update(
        self, state: tuple[()], residuals: pio.Residuals, **given: Any
    ) -> tuple[Mapping[str, Float[Array, "..."]], tuple[()]]:
        inputs, owners = given["inputs"], given.get("owners", {})
        weights = {name: self._sizes(inputs[name], r.ndim) for name, r in residuals.items()}
        for name, r in residuals.items() if self.causality else ():
            if owners.get(name, name) == "residual":
                patience = self._patience(weights[name], r, given["points"][name].get("t"))
                weights[name] = weights[name] * patience
        return weights, state

    def _sizes(self, u: Float[Array, "f sensors"], ndim: int) -> Float[Array, "..."]:
        size = jnp.mean(u**2, -1)
        share = size / jnp.maximum(jnp.mean(size), float(np.finfo(u.dtype).tiny))
        return (1 / (self.floor + share)).reshape(-1, *(1,) * (ndim - 1))

    def _patience(self, w: Array, r: Array, t: Array | None) -> Array:
        """exp(−causality × mean weighted square of the same function at earlier times)."""
        axis = r.ndim - 1
        if t is None or t.shape != (*(1,) * axis, r.shape[axis]):
            raise pio.PioError(
                "weighting 'relative' with causality follows each function through time, and needs "
                "blocks of points with a last coordinate t; set weighting.causality to 0."
            )
        inner = tuple(range(1, axis))
        # Bounded, so that no residual is too large for its square.
        bound = float(np.sqrt(np.finfo(r.dtype).max) / 1e3 / np.sqrt(r.size))
        square = jnp.mean(w * jnp.clip(r, -bound, bound) ** 2, inner, keepdims=True)
        past = (jnp.cumsum(square, axis) - square) / r.shape[axis]
        # What has to wait is not forgotten.
        return jnp.maximum(jnp.exp(-self.causality * past), 1e-6)
