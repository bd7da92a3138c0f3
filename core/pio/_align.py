"""Arrays aligned on the domain's axes, with length one where they do not vary."""

from __future__ import annotations

import string

import jax.numpy as jnp
from jaxtyping import Array, Float


def contract(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    """Multiply two aligned arrays and sum over their last axis, without ever broadcasting them.

    Axes of length one are left out of the product, so that a coefficient per function and a basis
    per point meet in one matrix product: `(f, 1, 1, p), (1, x, t, p) -> (f, x, t)` is
    `fp,xtp->fxt`.
    """
    shape = jnp.broadcast_shapes(a.shape, b.shape)[:-1]
    letters = string.ascii_letters[: len(shape) + 1]
    squeezed, subscripts = [], []
    for array in (a, b):
        array = array.reshape((1,) * (len(shape) + 1 - array.ndim) + array.shape)
        axes = [i for i, n in enumerate(array.shape[:-1]) if n != 1]
        squeezed.append(array.reshape(*(array.shape[i] for i in axes), array.shape[-1]))
        subscripts.append("".join(letters[i] for i in axes) + letters[-1])
    out = "".join(letters[i] for i, n in enumerate(shape) if n != 1)
    return jnp.einsum(f"{subscripts[0]},{subscripts[1]}->{out}", *squeezed).reshape(shape)
