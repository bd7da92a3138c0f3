"""Weights by the size of u: w = 1 / (floor + ⟨u²⟩ / m), where m is the mean of ⟨u²⟩ over the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class Relative:
    """Every function counts about alike, however large it is.

    Errors are measured relative to the size of each solution, residuals are not: where solutions are
    proportional to u, and steeper for larger u, a plain mean is a mean over the largest functions.
    """

    floor: float = pio.option(0.25, "what is added to the relative size of u")
    power: float = pio.option(1.0, "exponent of the whole")

    needs = frozenset({"inputs"})

    def __post_init__(self) -> None:
        if not (self.floor > 0 and self.power >= 0):
            raise pio.PioError(
                "weighting 'relative' needs a floor > 0 and a power ≥ 0 "
                f"(got floor = {self.floor}, power = {self.power})."
            )

    def init(self, rows: Mapping[str, int]) -> tuple[()]:
        del rows
        return ()

    def update(
        self, state: tuple[()], residuals: pio.Residuals, **given: Any
    ) -> tuple[Mapping[str, Float[Array, "..."]], tuple[()]]:
        terms = given["inputs"]
        # A system has several residuals per term; those without functions of their own share the first.
        fallback = next(iter(terms.values()))
        return {
            name: self._weights(terms.get(name, fallback), r.ndim) for name, r in residuals.items()
        }, state

    def _weights(self, u: Float[Array, "f sensors"], ndim: int) -> Float[Array, "..."]:
        size = jnp.mean(u**2, -1)
        share = size / jnp.maximum(jnp.mean(size), jnp.finfo(u.dtype).tiny)
        return ((self.floor + share) ** -self.power).reshape(-1, *(1,) * (ndim - 1))
