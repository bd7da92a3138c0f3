"""An architecture: which features each subnetwork reads, and the network over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Float, PRNGKeyArray

from pio._latents import Latents

Inputs = Mapping[str, Sequence[Float[Array, "..."]]]
"""For each subnetwork its features, aligned on the domain's axes with their channels last."""


class Network(NamedTuple):
    """A pair of pure functions, from Haiku or any other library.

    `apply` returns `Latents`, or one aligned array per output for a network that is no DeepONet.
    """

    init: Callable[[PRNGKeyArray, Inputs], Any]
    apply: Callable[[Any, Inputs], Latents | tuple[Float[Array, "..."], ...]]


@runtime_checkable
class Architecture(Protocol):
    """What a network reads, and the network.

    `reads` maps each subnetwork to features by name: `u` (on the sensors), `x` (the place: every
    space coordinate), `t`, `u(x)`, `û` (Fourier coefficients), `u(x+δ)`, or one that the equation
    offers. Core evaluates each only along the axes it varies on, embeds coordinates, and
    differentiates; a network sees aligned arrays and broadcasts.
    """

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]: ...

    def network(self, outputs: int) -> Network: ...
