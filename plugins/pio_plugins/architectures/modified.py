"""The modified DeepONet (Wang, Wang and Perdikaris, 2022): two encoders gate every layer of both networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import haiku as hk
import jax.numpy as jnp
from jaxtyping import Array

import pio


@dataclass(frozen=True)
class Modified:
    """With encoders U of the branch's input and V of the trunk's, each layer is Z ⊙ U + (1 - Z) ⊙ V."""

    width: int = pio.option(100, "neurons in each hidden layer, and number of latents")
    depth: int = pio.option(6, "hidden layers of branch and trunk")
    also: tuple[str, ...] = pio.option((), "further features for the trunk, of those offered")

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1:
            raise pio.PioError(
                "a DeepONet needs at least one hidden layer of at least one neuron "
                f"(got width = {self.width}, depth = {self.depth})."
            )

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        return {"branch": ("u",), "trunk": ("t", "x", *self.also)}

    def network(self, outputs: int) -> pio.Network:
        def forward(inputs: pio.Inputs) -> pio.Latents:
            sides = ("branch", "trunk")
            first = {side: pio.Join(self.width, name=f"{side}_0")(inputs[side]) for side in sides}
            U, V = (
                jnp.tanh(pio.Join(self.width, name=f"{side}_encoder")(inputs[side]))
                for side in sides
            )

            def gate(h: Array) -> Array:
                # Z U + (1 - Z) V, with one product fewer.
                return V + jnp.tanh(h) * (U - V)

            h = {side: gate(first[side]) for side in sides}
            for k in range(1, self.depth):
                for side in sides:
                    h[side] = gate(
                        hk.Linear(self.width, w_init=pio.glorot, name=f"{side}_{k}")(h[side])
                    )
            return pio.Latents(*(self._last(h[side], outputs, side) for side in sides))

        return pio.Network(*hk.without_apply_rng(hk.transform(forward)))

    def _last(self, h: Array, outputs: int, side: str) -> pio.Affine:
        latents = self.width * outputs
        w = hk.get_parameter(f"{side}_w", (self.width, latents), h.dtype, init=pio.glorot)
        b = hk.get_parameter(f"{side}_b", (latents,), h.dtype, init=jnp.zeros)
        return pio.Affine(h, w, b)
