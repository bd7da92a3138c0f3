"""Latents: what branch and trunk hand over, and how they meet."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from pio._align import contract
from pio._errors import PioError


class Affine(NamedTuple):
    """A subnetwork's last layer, not yet applied: its latents are `hidden @ w + b`."""

    hidden: Float[Array, "... width"]
    w: Float[Array, "width latents"]
    b: Float[Array, " latents"]

    def value(self) -> Float[Array, "... latents"]:
        return self.hidden @ self.w + self.b


class Latents(NamedTuple):
    """The two sides of a DeepONet; s is the inner product of their latents."""

    branch: Affine
    trunk: Affine


def meet(
    latents: Latents, outputs: int = 1, b: Float[Array, "... latents"] | None = None
) -> tuple[Float[Array, "..."], ...]:
    """The network's outputs n = Σ_k b_k γ_k, aligned, one array each.

    With γ = h W + β, the sum is (W b)·h + β·b. The last layer of the trunk then acts on the
    branch's rows, which are fewer by the number of times in a structured batch and carry fewer
    derivatives: one layer of the costlier network is saved. With several outputs, each has its own
    share of the latents. Whoever has the branch's latents already may give them as `b`.
    """
    branch, trunk = latents
    if trunk.b.shape[0] % outputs:
        raise PioError(
            f"{trunk.b.shape[0]} latents cannot be shared equally by {outputs} unknowns; let their number be a multiple of "
            "what `network(outputs)` is given."
        )
    few, many = (math.prod(side.hidden.shape[:-1]) for side in latents)
    b = branch.value() if b is None else b
    shares = (b,) if outputs == 1 else jnp.split(b, outputs, axis=-1)
    if few > many:
        gamma = trunk.value()
        parts = (gamma,) if outputs == 1 else jnp.split(gamma, outputs, axis=-1)
        return tuple(contract(share, part) for share, part in zip(shares, parts, strict=True))
    weights, biases = jnp.split(trunk.w, outputs, axis=-1), jnp.split(trunk.b, outputs)
    return tuple(
        contract(share @ w.T, trunk.hidden) + (share @ beta[:, None])[..., 0]
        for share, w, beta in zip(shares, weights, biases, strict=True)
    )
