"""A batch: input functions and the points at which their solutions are asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pio._errors import PioError


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """Functions u on their sensors, and coordinates aligned on the domain's axes.

    The three layouts are the same thing with other shapes:

    - `block`: every function at every place and time, coordinates `(1, x, 1)` and `(1, 1, t)`;
    - `scatter`: points private to each function, all coordinates `(f, p, 1)`;
    - `pairs`: one point per function, all coordinates `(f, 1, 1)`.

    `targets`, aligned likewise, are what terms of the loss are to be there, by their names; else it is zero.
    """

    u: Float[Array, "f sensors"]
    points: Mapping[str, Float[Array, "..."]]
    targets: Mapping[str, Float[Array, "..."]] = field(default_factory=dict)

    @classmethod
    def block(cls, u: Float[Array, "f sensors"], **points: Float[Array, " _"]) -> Batch:
        """Every function at every combination of these coordinates, given in the domain's order."""
        count = len(points)
        aligned = {
            name: jnp.reshape(p, (1,) * (k + 1) + (-1,) + (1,) * (count - k - 1))
            for k, (name, p) in enumerate(points.items())
        }
        return cls(u, aligned)

    @classmethod
    def scatter(cls, u: Float[Array, "f sensors"], **points: Float[Array, "f p"]) -> Batch:
        """Each function at points of its own."""
        unit = (1,) * (len(points) - 1)
        return cls(u, {n: jnp.reshape(p, (*p.shape, *unit)) for n, p in points.items()})

    @classmethod
    def pairs(cls, u: Float[Array, "f sensors"], **points: Float[Array, " f"]) -> Batch:
        """Each function at one point."""
        unit = (1,) * len(points)
        return cls(u, {n: jnp.reshape(p, (*p.shape, *unit)) for n, p in points.items()})

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes, `(f, x, t)`."""
        coordinates = [p.shape for p in self.points.values()]
        return jnp.broadcast_shapes((len(self.u), *(1,) * (len(coordinates[0]) - 1)), *coordinates)

    def at(self, **fixed: float) -> Batch:
        """The same batch with some coordinates held at a value."""
        unknown = fixed.keys() - self.points.keys()
        if unknown:
            raise PioError(
                f"the batch has no coordinate {sorted(unknown)}; it has {', '.join(self.points)}."
            )
        held = {
            n: jnp.full((1,) * p.ndim, fixed[n], p.dtype) if n in fixed else p
            for n, p in self.points.items()
        }
        return dataclasses.replace(self, points=held)
