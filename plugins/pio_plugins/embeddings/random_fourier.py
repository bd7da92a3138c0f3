"""Random Fourier features: y = (x, t) becomes cos(ω·y + φ), sin(ω·y + φ) for random frequencies ω and phases φ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pio


@dataclass(frozen=True)
class RandomFourier:
    """Lets a network see features of about 1/`scale` at once, in all coordinates jointly.

    ω is normal with deviation `scale`, φ uniform and shared by the pair; both are drawn once, by the
    `seed`, and not trained. The phase only rotates each pair, so that no feature is special at the
    origin. What a subnetwork reads of some of the coordinates only enters it as it is.
    """

    features: int = pio.option(150, "frequencies; each gives a cosine and a sine")
    scale: float = pio.option(2.0, "standard deviation of the frequencies")
    seed: int = pio.option(0, "seed of the draws")

    def __post_init__(self) -> None:
        if self.features < 1 or not self.scale > 0 or self.seed < 0:
            raise pio.PioError(
                "embedding 'random-fourier' needs at least one frequency, a scale > 0 and a seed ≥ 0 "
                f"(got features = {self.features}, scale = {self.scale}, seed = {self.seed})."
            )

    def groups(self, domain: pio.Domain) -> tuple[tuple[str, ...], ...]:
        return (domain.names,)

    def embed(
        self, domain: pio.Domain, group: tuple[str, ...], *values: Float[Array, "..."]
    ) -> Float[Array, "... channels"]:
        omega, phi = _draw(self.features, self.scale, self.seed, len(group))
        phases = jnp.asarray(phi, values[0].dtype)
        for row, value, name in zip(omega, values, group, strict=True):
            # Each coordinate on its own axes; they meet in the sum.
            phases = phases + (value[..., None] - domain[name].low) * jnp.asarray(row, value.dtype)
        return jnp.concatenate([jnp.cos(phases), jnp.sin(phases)], -1)


@lru_cache
def _draw(features: int, scale: float, seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    # NumPy's generator draws the same numbers in every precision and on every device.
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, scale, (count, features)), rng.uniform(0.0, 2 * np.pi, features)
