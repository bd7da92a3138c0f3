"""The space an input function is drawn from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray


@runtime_checkable
class FunctionSpace(Protocol):
    """Where u comes from, and how it is read. It is hashable: a frozen dataclass, say.

    `coordinates` names what u is a function of, `("x",)`; `sensors` lists the places where it is
    known, one row each (one number each when there is one coordinate). `sample` is a pure function
    of its key. `at(u, x)` takes those coordinates in order, reads u between its sensors, and is smooth to
    the order the equation differentiates; it sees arrays aligned on the domain's axes, u with its
    sensors on the last one, and only has to broadcast (`pio.contract` does so efficiently):

        u: (f, 1, 1, sensors), x: (1, x, 1)  ->  (f, x, 1)

    A space of periodic functions also has `coefficients(u)`, the pairs (a_k, b_k) of
    u = a_0 + Σ a_k cos(2πkx/L) + b_k sin(2πkx/L), k = 1…`modes`, on the last axis as
    a_1, b_1, a_2, b_2, …
    """

    @property
    def coordinates(self) -> tuple[str, ...]: ...

    @property
    def sensors(self) -> np.ndarray: ...

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n sensors"]: ...

    @property
    def at(self) -> Callable[..., Float[Array, "..."]]: ...


def draw(space: FunctionSpace, key: PRNGKeyArray, n: int) -> np.ndarray:
    """`space.sample` in double precision, whatever precision JAX is set to."""
    with jax.enable_x64(True):
        return np.asarray(space.sample(key, n), np.float64)


def read(space: FunctionSpace, u: Any, *coordinates: Any) -> np.ndarray:
    """`space.at` in double precision: u is `(n, sensors)`, each coordinate `(p,)`; gives `(n, p)`."""
    with jax.enable_x64(True):
        places = [jnp.asarray(c, jnp.float64)[None, :] for c in coordinates]
        return np.asarray(_at(space, jnp.asarray(u, jnp.float64)[:, None, :], *places))


@partial(jax.jit, static_argnums=0)
def _at(space: FunctionSpace, u: Array, *coordinates: Array) -> Array:
    return space.at(u, *coordinates)
