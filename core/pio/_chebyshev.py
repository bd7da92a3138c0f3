"""Chebyshev polynomials."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def chebyshev(y: Float[Array, "*at"], terms: int) -> Float[Array, "*at terms"]:
    """T_0, T_1, … at y in [-1, 1], on a new last axis.

    T_{k+j} = 2 T_k T_j − T_{k−j} doubles the number of polynomials known at each step.
    """
    known = jnp.concatenate([jnp.ones_like(y)[..., None], y[..., None]], -1)
    while (k := known.shape[-1] - 1) < terms - 1:
        new = 2 * known[..., k:] * known[..., 1:] - jnp.flip(known[..., :k], -1)
        known = jnp.concatenate([known, new], -1)
    return known[..., :terms]
