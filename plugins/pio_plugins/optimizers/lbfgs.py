"""L-BFGS (Liu and Nocedal, 1989) with a zoom line search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class LBFGS:
    """A quasi-Newton step from the last few gradients, its length found by a line search.

    It compares gradients of successive steps, so many steps in a row must have one and the same loss:
    keep batches with `--set hold=100`, and weights constant (`--weighting fixed`). On batches drawn
    afresh, the differences it takes for curvature are mostly noise. Each step costs one gradient
    more for every trial of its line search.
    """

    memory: int = pio.option(10, "gradients remembered")
    trials: int = pio.option(20, "most evaluations of one line search")

    needs = frozenset({"value_fn"})

    def __post_init__(self) -> None:
        if self.memory < 1 or self.trials < 1:
            raise pio.PioError(
                "L-BFGS remembers one gradient at least, and tries one step at least "
                f"(got memory = {self.memory}, trials = {self.trials})."
            )

    def transform(self, steps: int) -> optax.GradientTransformationExtraArgs:
        del steps
        search = optax.scale_by_zoom_linesearch(self.trials, initial_guess_strategy="one")
        return pio.clipped(optax.lbfgs(memory_size=self.memory, linesearch=search))

    def rate(self, step: Any, steps: int) -> Float[Array, ""]:
        del step, steps
        return jnp.ones(())  # the line search's first trial
