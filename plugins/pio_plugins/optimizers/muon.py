"""Muon (Jordan et al., 2024): momentum whose matrices are made orthogonal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import optax
import optax.contrib
from jaxtyping import Array, Float

import pio
from pio_plugins.optimizers._bounds import require_decay, require_weight_decay


@dataclass(frozen=True)
class Muon:
    """Steps of matrices have all singular values near one; vectors are left to Adam.

    Each step is scaled by 0.2 √(longer side), which makes its entries about as large as Adam's
    (Liu et al., 2025), so that one learning rate serves both.
    """

    learning_rate: float = pio.option(3e-3, "peak learning rate")
    decay: Literal["cosine", "exponential", "constant"] = pio.option(
        "cosine", "how the rate falls; cosine ends with the run"
    )
    factor: float = pio.option(0.95, "exponential: the rate is multiplied by this…")
    every: float = pio.option(200.0, "…every so many steps, continuously")
    warmup: float = pio.option(0.02, "steps of linear rise, or a share of the run if below one")
    floor: float = pio.option(0.0, "least rate, as a share of the peak")
    momentum: float = pio.option(0.95, "decay of the mean gradient")
    weight_decay: float = pio.option(0.0, "decoupled; times the learning rate")
    clip: float | None = pio.option(None, "bound on the gradient's norm, or none")

    def __post_init__(self) -> None:
        _ = self._schedule
        require_decay(momentum=self.momentum)
        require_weight_decay(self.weight_decay)

    @property
    def _schedule(self) -> pio.Schedule:
        return pio.Schedule(
            self.learning_rate, self.warmup, self.decay, self.factor, self.every, self.floor
        )

    def transform(self, steps: int) -> optax.GradientTransformationExtraArgs:
        muon = optax.contrib.muon(
            self._schedule.over(steps),
            beta=self.momentum,
            weight_decay=self.weight_decay,
            adam_weight_decay=self.weight_decay,
            consistent_rms=0.2,
        )
        return pio.clipped(muon, self.clip)

    def rate(self, step: Any, steps: int) -> Float[Array, ""]:
        return self._schedule.rate(step, steps)
