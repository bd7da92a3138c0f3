"""Weights by a kernel: λ = (K_max / K)^½, so that no residual learns much faster than another.

K is the squared norm of a residual's gradient, by all parameters (`ntk`) or by those of the last layers of branch
and trunk (`ck`, which costs a few inner products). Under gradient descent a residual decays at a rate
of about λK; the exponent ½ is the "moderately localised" choice between none (0) and equal rates for
all (1). K_max is taken over all terms of the batch, so the least weight is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pio


class KernelState(NamedTuple):
    """The weight of each term in force between two evaluations of the kernel."""

    weights: Mapping[str, Float[Array, ""]]


@dataclass(frozen=True)
class Kernel:
    """A weight for each point, anew at every step; with a cadence above one, for each term.

    Between evaluations points change, so what is kept is each term's mean weight.
    """

    kind: Literal["ck", "ntk"] = pio.option("ck", "which kernel: ck or ntk")
    exponent: float = pio.option(0.5, "0 weighs all alike, 1 makes all rates equal")
    cadence: int = pio.option(1, "steps between evaluations of the kernel")

    def __post_init__(self) -> None:
        if self.kind not in ("ck", "ntk"):
            raise pio.PioError(f"there is no kernel {self.kind!r}; there is ck and ntk.")
        if not 0 <= self.exponent <= 1 or self.cadence < 1:
            raise pio.PioError(
                f"weighting {self.kind!r} needs an exponent from 0 to 1 and a cadence of at least 1 "
                f"(got exponent = {self.exponent}, cadence = {self.cadence})."
            )

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.kind})

    def init(self, rows: Mapping[str, int]) -> KernelState:
        return KernelState({name: jnp.ones(()) for name in rows} if self.cadence > 1 else {})

    def update(
        self, state: KernelState, residuals: pio.Residuals, **given: Any
    ) -> tuple[dict[str, Array], KernelState]:
        kernels = given["kernels"]

        def local() -> dict[str, Array]:
            return self._local(kernels() if callable(kernels) else kernels)

        if self.cadence == 1:
            return local(), state

        def anew() -> dict[str, Array]:
            return {k: jnp.mean(w).astype(state.weights[k].dtype) for k, w in local().items()}

        due = given["step"] % self.cadence == 0
        held = jax.lax.cond(due, anew, lambda: dict(state.weights))
        weights = {
            k: jnp.reshape(held[k], (1,) * r.ndim).astype(r.dtype) for k, r in residuals.items()
        }
        return weights, KernelState(held)

    def _local(self, kernels: Mapping[str, Array]) -> dict[str, Array]:
        # A kernel that overflowed is the largest there is; one that vanished or was lost to rounding
        # gets the weight of the least that rounding leaves.
        dtype = jnp.result_type(*kernels.values())
        info = np.finfo(dtype)
        largest, least, rounding = float(info.max), float(info.tiny), float(info.eps)
        finite = {
            k: jnp.nan_to_num(v, nan=largest, posinf=largest, neginf=0.0)
            for k, v in kernels.items()
        }
        top = jnp.max(jnp.stack([jnp.max(v) for v in finite.values()]))
        top = jnp.maximum(top, least / rounding)
        return {
            k: (top / jnp.maximum(v, top * rounding)) ** jnp.asarray(self.exponent, dtype)
            for k, v in finite.items()
        }
