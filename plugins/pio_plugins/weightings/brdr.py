"""Balanced residual decay rates (Chen, Howard and Stinis, 2025): more weight where residuals fall slowly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

import pio


class BRDRState(NamedTuple):
    """For each row of each term's table: its weight w, an average e of r⁴, the step of its last visit.

    `step` counts from 1.
    """

    w: Mapping[str, Float[Array, " rows"]]
    e: Mapping[str, Float[Array, " rows"]]
    last: Mapping[str, Int[Array, " rows"]]
    step: Int[Array, ""]


@dataclass(frozen=True)
class BRDR:
    """A weight for each point of frozen tables, which follows its inverse residual decay rate.

    At step n, a row in the batch that was last visited Δ steps ago (at most ten epochs) has

        e ← β_c^Δ e + (1 − β_c^Δ) r⁴,    irdr = r² / (√(e / (1 − β_c^n)) + ε),
        w ← β_w^Δ w + (1 − β_w^Δ) irdr / mean(irdr),

    with the mean over all rows of all terms in the batch: the inverse of the rate at which its residual decays,
    beside the average one. Rows that were never visited keep w = 1. The powers of Δ make up for the
    steps in which a row was not in the batch.

    The published loss also has a global factor that follows the step size. Optimisers that divide by
    the size of the gradient, such as AdamW and SOAP, undo any such factor, and it is left out.
    """

    beta_c: float = pio.option(0.9999, "memory β_c of r⁴, per step")
    beta_w: float = pio.option(0.999, "memory β_w of the weights, per step")
    eps: float = pio.option(1e-14, "ε, below which r² counts as zero")
    factor: bool = pio.option(
        True, "count each term by batch / rows of its table, as the published code does"
    )

    needs = frozenset({"rows"})

    def __post_init__(self) -> None:
        if not (0 < self.beta_c < 1 and 0 < self.beta_w < 1 and self.eps > 0):
            raise pio.PioError(
                "weighting 'brdr' needs beta_c and beta_w between 0 and 1 and eps > 0 (got "
                f"beta_c = {self.beta_c}, beta_w = {self.beta_w}, eps = {self.eps})."
            )

    def init(self, rows: Mapping[str, int]) -> BRDRState:
        fresh = [name for name, count in rows.items() if count < 1]
        if fresh:
            raise pio.PioError(
                f"weighting 'brdr' keeps a weight for each training point, but the points of "
                f"{', '.join(fresh)} are drawn anew at every step; train on frozen tables "
                "(--preset paper), or use --weighting balanced or ck."
            )
        return BRDRState(
            {name: jnp.ones(n) for name, n in rows.items()},
            {name: jnp.zeros(n) for name, n in rows.items()},
            {name: jnp.zeros(n, jnp.int32) for name, n in rows.items()},
            jnp.ones((), jnp.int32),
        )

    def update(
        self, state: BRDRState, residuals: pio.Residuals, **given: Any
    ) -> tuple[dict[str, Array], BRDRState]:
        w, e, last = dict(state.w), dict(state.e), dict(state.last)
        dtype = next(iter(w.values())).dtype
        n = state.step
        visits: dict[str, tuple[Array, Array, Array]] = {}
        for name, r in residuals.items():
            row = jnp.ravel(jnp.broadcast_to(given["rows"][name], r.shape))
            epochs = 10 * len(w[name]) / row.size
            gap = jnp.minimum((n - last[name][row]).astype(dtype), epochs)
            square = self._square(r, dtype)
            old, new = _share(self.beta_c, gap)
            average = old * e[name][row] + new * square**2
            _, seen = _share(self.beta_c, n.astype(dtype))
            irdr = square / (jnp.sqrt(average) / jnp.sqrt(seen) + self.eps)
            visits[name] = row, gap, irdr
            e[name] = e[name].at[row].set(average)
            last[name] = last[name].at[row].set(n)
        mean = jnp.mean(jnp.concatenate([irdr for *_, irdr in visits.values()]))
        weights = {}
        for name, (row, gap, irdr) in visits.items():
            # Where nothing is left to decay, all rates are the same.
            rate = jnp.where(mean > 0, irdr / jnp.where(mean > 0, mean, 1), 1)
            old, new = _share(self.beta_w, gap)
            now = jnp.maximum(old * w[name][row] + new * rate, float(np.finfo(dtype).eps))
            w[name] = w[name].at[row].set(now)
            share = row.size / len(w[name]) if self.factor else 1.0
            r = residuals[name]
            weights[name] = (share * now).reshape(r.shape).astype(r.dtype)
        return weights, BRDRState(w, e, last, n + 1)

    def _square(self, r: Array, dtype: Any) -> Array:
        """r², cut off where its square would overflow."""
        limit = float(np.finfo(dtype).max) ** 0.25 / 2
        bounded = jnp.nan_to_num(jnp.ravel(r).astype(dtype), nan=limit, posinf=limit, neginf=-limit)
        return jnp.clip(bounded, -limit, limit) ** 2


def _share(beta: float, steps: Array) -> tuple[Array, Array]:
    """β^Δ and 1 − β^Δ, the second without cancellation."""
    power = steps * math.log(beta)
    return jnp.exp(power), -jnp.expm1(power)
