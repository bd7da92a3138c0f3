"""Functions lifted above a floor, such as velocities that must be positive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from pio._space import FunctionSpace


@dataclass(frozen=True)
class Lifted:
    """u = v − min v + floor, where v is drawn from another space of functions of one coordinate.

    The minimum is taken over `fineness` uniform points, whatever points u is read at later. `at` is
    that of the other space, which has to reproduce constants.
    """

    space: FunctionSpace
    floor: float = 1.0
    fineness: int = 512

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.space.coordinates

    @property
    def sensors(self) -> np.ndarray:
        return self.space.sensors

    @cached_property
    def _places(self) -> np.ndarray:
        return np.linspace(self.sensors[0], self.sensors[-1], self.fineness)

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n sensors"]:
        v = self.space.sample(key, n)
        fine = self.space.at(v[:, None, :], jnp.asarray(self._places, v.dtype)[None, :])
        return v - fine.min(-1, keepdims=True) + self.floor

    def at(self, u: Float[Array, "*f sensors"], *x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.space.at(u, *x)
