"""An optimiser: how a gradient becomes a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from pio._errors import PioError

Step = Any
"""A count of steps: a Python integer, or an array under `jit`."""


@runtime_checkable
class Optimizer(Protocol):
    """An optax transformation whose schedule is already in it.

    `transform(steps)` is told the length of the run, so that a decay ends with it. Its `update` gets
    `value`, `grad` and `value_fn` as keywords, of which an ordinary transformation takes no notice
    (`pio.clipped` makes it so); `value_fn(params)` is the loss at this step's
    batch. `rate(step, steps)` is the learning rate of a step, for the record.

        transformation = optimizer.transform(steps)
        state = transformation.init(params)
        updates, state = transformation.update(
            grads, state, params, value=loss, grad=grads, value_fn=value_fn
        )
        params = optax.apply_updates(params, updates)

    Everything is pure and runs under `jit`, `lax.scan` and `vmap`; the state is a pytree of arrays.
    An optional `needs`, a set of names such as `{"value_fn"}`, tells the loop what it cannot do
    without; an optimiser that lacks it only ever uses the gradient.
    """

    def transform(self, steps: int) -> optax.GradientTransformationExtraArgs: ...

    def rate(self, step: Step, steps: int) -> Float[Array, ""]: ...


@dataclass(frozen=True)
class Schedule:
    """A learning rate that rises linearly, then falls: `peak` × the shape, at least `floor` × `peak`.

    `warmup` is a number of steps, or a share of the run if it is below one. Of the shapes, `cosine`
    ends with the run; `exponential` falls by `factor` every `every` steps, whatever the run's
    length; `constant` stays.

        Schedule(3e-3, warmup=0.02, decay="cosine")
        Schedule(1e-3, decay="exponential", factor=0.99, every=500.0)
    """

    peak: float
    warmup: float = 0.0
    decay: Literal["cosine", "exponential", "constant"] = "constant"
    factor: float = 0.99
    every: float = 500.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        for name, holds, wanted in (
            ("peak", 0 < self.peak < math.inf, "positive"),
            ("warmup", 0 <= self.warmup < math.inf, "a number of steps, or a share of the run"),
            ("factor", 0 < self.factor <= 1, "above 0 and at most 1"),
            ("every", 0 < self.every < math.inf, "positive"),
            ("floor", 0 <= self.floor <= 1, "a share of the peak, from 0 to 1"),
        ):
            if not holds:
                raise PioError(
                    f"a learning rate's {name} is {wanted} (got {getattr(self, name):g})."
                )
        if self.decay not in ("cosine", "exponential", "constant"):
            raise PioError(
                f"a learning rate's decay is cosine, exponential or constant (got {self.decay!r})."
            )

    def rate(self, step: Step, steps: int) -> Float[Array, ""]:
        """The rate of a step, counted from 0, in a run of so many."""
        n = jnp.asarray(step, float)
        rise = self.warmup * steps if self.warmup < 1 else self.warmup
        # The first step of a warm-up is not lost: it has the rate of one part, not of none.
        up = jnp.minimum((n + 1) / rise, 1.0) if rise >= 1 else jnp.ones_like(n)
        past = jnp.maximum(n - rise, 0.0)
        if self.decay == "cosine":
            done = jnp.minimum(past / max(steps - rise, 1.0), 1.0)
            shape = self.floor + (1 - self.floor) * 0.5 * (1 + jnp.cos(jnp.pi * done))
        elif self.decay == "exponential":
            shape = jnp.maximum(self.factor ** (past / self.every), self.floor)
        else:
            shape = jnp.ones_like(n)
        return self.peak * up * shape

    def over(self, steps: int) -> optax.Schedule:
        """The same as an optax schedule, a function of the step alone."""
        return lambda step: self.rate(step, steps)


def clipped(
    transformation: optax.GradientTransformation, norm: float | None = None
) -> optax.GradientTransformationExtraArgs:
    """A transformation that first shortens gradients to this norm, if there is one.

    It takes keywords, and leave to mix dtypes, as optax does, where the caller is strict about them.
    """
    if norm is not None and not norm > 0:
        raise PioError(f"the bound on the gradient's norm is positive, or none (got {norm:g}).")
    inner = (
        optax.with_extra_args_support(transformation)
        if norm is None
        else optax.chain(optax.clip_by_global_norm(norm), transformation)
    )

    def init(params: Any) -> Any:
        with jax.numpy_dtype_promotion("standard"):
            return inner.init(params)

    def update(grads: Any, state: Any, params: Any = None, **given: Any) -> tuple[Any, Any]:
        with jax.numpy_dtype_promotion("standard"):
            updates, after = inner.update(grads, state, params, **given)
            return updates, after

    return optax.GradientTransformationExtraArgs(init, update)
