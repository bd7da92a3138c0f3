"""Layers that keep features on their own axes."""

from __future__ import annotations

from collections.abc import Sequence

import haiku as hk
import jax.numpy as jnp
from jaxtyping import Array, Float

glorot = hk.initializers.VarianceScaling(1.0, "fan_avg", "normal")
"""Normal, with standard deviation √(2 / (inputs + outputs))."""


class Join(hk.Module):
    """An affine layer over several aligned features, as if they were concatenated.

    One matrix, Glorot on its total number of inputs; its rows are sliced per feature, each feature is
    multiplied on its own axes, and the products are added by broadcasting: u's hundred sensors
    are multiplied once per function, not once per point.
    """

    def __init__(self, width: int, name: str | None = None) -> None:
        super().__init__(name)
        self.width = width

    def __call__(self, features: Sequence[Float[Array, "..."]]) -> Float[Array, "... width"]:
        sizes = [f.shape[-1] for f in features]
        dtype = features[0].dtype
        w = hk.get_parameter("w", (sum(sizes), self.width), dtype, init=glorot)
        b = hk.get_parameter("b", (self.width,), dtype, init=jnp.zeros)
        # Split, not sliced: the gradient of slices is a sum of padded products, which the compiler of
        # jaxlib 0.10 fuses on CPUs into one that crashes when w is large.
        ends = [sum(sizes[:k]) for k in range(1, len(sizes))]
        parts = [f @ rows for f, rows in zip(features, jnp.split(w, ends), strict=True)]
        # Small ones first, so that the sum is long only at its end.
        parts = sorted(parts, key=lambda p: p.size)
        return sum(parts[1:], parts[0] + b)
