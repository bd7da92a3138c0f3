"""Fixed weights: one number per kind of term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

import pio


class FixedState(NamedTuple):
    """Nothing is remembered."""


@dataclass(frozen=True)
class Fixed:
    """Every term counts by its mean square, times a constant."""

    residual: float = pio.option(1.0, "weight of the equation's residual")
    initial: float = pio.option(1.0, "weight of the initial condition")
    boundary: float = pio.option(1.0, "weight of every other condition")
    data: float = pio.option(1.0, "weight of what was measured")

    needs = frozenset[str]()

    def __post_init__(self) -> None:
        for name in ("residual", "initial", "boundary", "data"):
            if not 0 < getattr(self, name) < float("inf"):
                raise pio.PioError(
                    f"weighting 'fixed' needs weights > 0 (got {name} = {getattr(self, name)})."
                )

    def init(self, rows: Mapping[str, int]) -> FixedState:
        del rows
        return FixedState()

    def update(
        self, state: FixedState, residuals: pio.Residuals, **given: Any
    ) -> tuple[dict[str, Array], FixedState]:
        owners = given.get("owners", {})
        weights = {
            name: jnp.full((1,) * r.ndim, self._weight(owners.get(name, name)), r.dtype)
            for name, r in residuals.items()
        }
        return weights, state

    def _weight(self, name: str) -> float:
        named = {"residual": self.residual, "initial": self.initial, "data": self.data}
        return named.get(name, self.boundary)
