"""Harmonics of the periodic coordinates: x becomes cos(2πkx/L), sin(2πkx/L) for k = 1…K."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class Fourier:
    """Makes whatever the network computes periodic, with all its derivatives, to rounding."""

    order: int = pio.option(4, "highest harmonic K, inclusive")

    def __post_init__(self) -> None:
        if self.order < 1:
            raise pio.PioError(
                f"embedding 'fourier' needs harmonics up to 1 at least (got order = {self.order})."
            )

    def groups(self, domain: pio.Domain) -> tuple[tuple[str, ...], ...]:
        if not domain.periodic:
            raise pio.PioError(
                "embedding 'fourier' makes solutions periodic, but no coordinate of this equation is "
                f"({', '.join(domain.names)}); use --embedding random-fourier or none."
            )
        return tuple((name,) for name in domain.periodic)

    def embed(
        self, domain: pio.Domain, group: tuple[str, ...], *values: Float[Array, "..."]
    ) -> Float[Array, "... channels"]:
        (name,), (x,) = group, values
        coordinate = domain[name]
        k = 2 * np.pi * np.arange(1, self.order + 1) / coordinate.length
        phases = (x[..., None] - coordinate.low) * jnp.asarray(k, x.dtype)
        return jnp.concatenate([jnp.cos(phases), jnp.sin(phases)], -1)
