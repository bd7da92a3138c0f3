"""An embedding: a map of coordinates that stands in for them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Float

from pio._domain import Domain


@runtime_checkable
class Embedding(Protocol):
    """Features of coordinates, which replace them wherever a subnetwork reads all of a group.

    `groups(domain)` lists the coordinates that are embedded together; `embed` maps the values of
    one group, aligned, to channels on a new last axis. An embedding that has no sense on a domain
    raises a `PioError` from `groups`.

    Some make conditions hold whatever a network computes from them: features that are the same at two
    faces, or flat at them. That is found by trying, and need not be declared.
    """

    def groups(self, domain: Domain) -> tuple[tuple[str, ...], ...]: ...

    def embed(
        self, domain: Domain, group: tuple[str, ...], *values: Float[Array, "..."]
    ) -> Float[Array, "... channels"]: ...
