"""DeepONets that differ by a row of features: s = Σ_k b_k γ_k, with tanh networks b and γ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import haiku as hk
import jax.numpy as jnp
from jaxtyping import Array, Float

import pio

TABLE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # variant: what the branch reads, what the trunk reads
    "vanilla": (("u",), ("t", "x")),
    "bx": (("u", "x"), ("t", "x")),
    "tl": (("u",), ("t", "x", "u(x)")),
    "bxtl": (("u", "x"), ("t", "x", "u(x)")),
    "tg": (("u",), ("t", "x", "u")),
    "bxtg": (("u", "x"), ("t", "x", "u")),
    "tf": (("u",), ("t", "x", "û")),
    "bxtf": (("u", "x"), ("t", "x", "û")),
    "tn": (("u",), ("t", "x", "u(x+δ)")),
    "bxtn": (("u", "x"), ("t", "x", "u(x+δ)")),
}


@dataclass(frozen=True)
class DeepONet:
    """A branch and a trunk, `depth` tanh layers of `width` each and a linear one, no output bias."""

    variant: str = pio.option("vanilla", "the row of the table: " + ", ".join(TABLE))
    width: int = pio.option(100, "neurons in each hidden layer, and number of latents")
    depth: int = pio.option(6, "hidden layers of branch and trunk")
    also: tuple[str, ...] = pio.option((), "further features for the trunk, of those offered")

    def __post_init__(self) -> None:
        if self.variant not in TABLE:
            raise pio.PioError(
                f"no DeepONet variant {self.variant!r}; there is {', '.join(TABLE)}."
            )
        if self.width < 1 or self.depth < 1:
            raise pio.PioError(
                "a DeepONet needs at least one hidden layer of at least one neuron "
                f"(got width = {self.width}, depth = {self.depth})."
            )

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        branch, trunk = TABLE[self.variant]
        return {"branch": branch, "trunk": (*trunk, *self.also)}

    def network(self, outputs: int) -> pio.Network:
        def forward(inputs: pio.Inputs) -> pio.Latents:
            tower = partial(Tower, self.width, self.depth, outputs)
            return pio.Latents(
                tower(name="branch")(inputs["branch"]), tower(name="trunk")(inputs["trunk"])
            )

        return pio.Network(*hk.without_apply_rng(hk.transform(forward)))


class Tower(hk.Module):
    """tanh layers, and a linear one that is left to whoever needs the latents."""

    def __init__(self, width: int, depth: int, outputs: int, name: str) -> None:
        super().__init__(name)
        self.width, self.depth, self.outputs = width, depth, outputs

    def __call__(self, features: Sequence[Float[Array, "..."]]) -> pio.Affine:
        h = jnp.tanh(pio.Join(self.width, name="layer_0")(features))
        for k in range(1, self.depth):
            h = jnp.tanh(hk.Linear(self.width, w_init=pio.glorot, name=f"layer_{k}")(h))
        latents = self.width * self.outputs
        w = hk.get_parameter("w", (self.width, latents), h.dtype, init=pio.glorot)
        b = hk.get_parameter("b", (latents,), h.dtype, init=jnp.zeros)
        return pio.Affine(h, w, b)
