"""No embedding: coordinates enter as they are."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class Identity:
    """Coordinates enter the networks as they are."""

    def groups(self, domain: pio.Domain) -> tuple[tuple[str, ...], ...]:
        del domain
        return ()

    def embed(
        self, domain: pio.Domain, group: tuple[str, ...], *values: Float[Array, "..."]
    ) -> Float[Array, "... channels"]:
        raise AssertionError(
            f"nothing is embedded, so nobody asks for {group} of {domain} at {values}"
        )
