"""The space an input function is drawn from."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Float, PRNGKeyArray


@runtime_checkable
class FunctionSpace(Protocol):
    """Where u comes from, and how it is read.

    `sample` is a pure function of its key. `at` reads u between its sensors and is smooth to the
    order the equation differentiates; it sees arrays aligned on the domain's axes, u with its
    sensors on the last one, and only has to broadcast:

        u: (f, 1, 1, sensors), x: (1, x, 1)  ->  (f, x, 1)

    A space of periodic functions also has `coefficients(u)`, the pairs (a_k, b_k) of
    u = a_0 + Σ a_k cos(2πkx/L) + b_k sin(2πkx/L), k = 1…`modes`, on the last axis as a_1, b_1, a_2, b_2, …
    """

    @property
    def sensors(self) -> Float[Array, " sensors"]: ...

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n sensors"]: ...

    def at(self, u: Float[Array, "... sensors"], x: Float[Array, "..."]) -> Float[Array, "..."]: ...
