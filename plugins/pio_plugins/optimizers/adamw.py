"""AdamW (Loshchilov and Hutter, 2019) with a learning rate that falls by 1 % every 500 steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import optax
from jaxtyping import Array, Float

import pio
from pio_plugins.optimizers._bounds import require_decay, require_positive, require_weight_decay


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay. The defaults are those of the published runs."""

    learning_rate: float = pio.option(1e-3, "peak learning rate")
    decay: Literal["cosine", "exponential", "constant"] = pio.option(
        "exponential", "how the rate falls; cosine ends with the run"
    )
    factor: float = pio.option(0.99, "exponential: the rate is multiplied by this…")
    every: float = pio.option(500.0, "…every so many steps, continuously")
    warmup: float = pio.option(0.0, "steps of linear rise, or a share of the run if below one")
    floor: float = pio.option(0.0, "least rate, as a share of the peak")
    b1: float = pio.option(0.9, "decay of the mean gradient")
    b2: float = pio.option(0.999, "decay of the mean square")
    eps: float = pio.option(1e-8, "added to the root mean square")
    weight_decay: float = pio.option(1e-4, "decoupled; times the learning rate")
    clip: float | None = pio.option(None, "bound on the gradient's norm, or none")

    def __post_init__(self) -> None:
        _ = self._schedule
        require_decay(b1=self.b1, b2=self.b2)
        require_positive(eps=self.eps)
        require_weight_decay(self.weight_decay)

    @property
    def _schedule(self) -> pio.Schedule:
        return pio.Schedule(
            self.learning_rate, self.warmup, self.decay, self.factor, self.every, self.floor
        )

    def transform(self, steps: int) -> optax.GradientTransformationExtraArgs:
        rate = self._schedule.over(steps)
        adamw = optax.adamw(rate, self.b1, self.b2, self.eps, weight_decay=self.weight_decay)
        return pio.clipped(adamw, self.clip)

    def rate(self, step: Any, steps: int) -> Float[Array, ""]:
        return self._schedule.rate(step, steps)
