"""Cosines of the space coordinates: x becomes cos(kπ(x − low)/L) for k = 1…K, flat at both ends."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class Cosine:
    """Makes whatever the network computes flat at both ends, to rounding: nothing flows through them.

    It is as if space went on in mirrors beyond its ends: all odd derivatives vanish there, and nothing
    else is asked of the solution. For coordinates with zero flux at both ends only; where some have
    other conditions, `along` names those that are meant.
    """

    order: int = pio.option(4, "highest cosine K, inclusive")
    along: str = pio.option("", "coordinates, xy for x and y; empty: all in space, but for periodic ones")  # fmt: skip

    def __post_init__(self) -> None:
        if self.order < 1:
            raise pio.PioError(
                f"embedding 'cosine' needs cosines up to 1 at least (got order = {self.order})."
            )

    def groups(self, domain: pio.Domain) -> tuple[tuple[str, ...], ...]:
        ends = [name for name in domain.names if name not in ("t", *domain.periodic)]
        for name in self.along:
            if name not in domain.names or name in domain.periodic:
                raise pio.PioError(
                    f"embedding 'cosine' is for coordinates with two ends, and {name!r} is none of this "
                    f"equation ({', '.join(ends) or 'it has none'}); change embedding.along."
                )
        if not ends and not self.along:
            raise pio.PioError(
                "embedding 'cosine' makes solutions flat at the ends of space, which this equation has not "
                f"({', '.join(domain.names)}); use --embedding fourier or none."
            )
        return tuple((name,) for name in (self.along or ends))

    def embed(
        self, domain: pio.Domain, group: tuple[str, ...], *values: Float[Array, "..."]
    ) -> Float[Array, "... channels"]:
        (name,), (x,) = group, values
        coordinate = domain[name]
        k = np.pi * np.arange(1, self.order + 1) / coordinate.length
        return jnp.cos((x[..., None] - coordinate.low) * jnp.asarray(k, x.dtype))
