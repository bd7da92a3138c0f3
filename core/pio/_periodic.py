"""Random periodic functions: Fourier series with independent normal coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from pio._align import contract
from pio._domain import Coordinate
from pio._errors import PioError


def power_law(
    modes: int, *, scale: float, tau: float, gamma: float, length: float = 1.0
) -> tuple[float, ...]:
    """Deviations of the Gaussian field with covariance scale² (−Δ + τ²)^−γ on a circle.

    Mode k of −Δ is (2πk/L)², its two eigenfunctions √(2/L) cos and √(2/L) sin.
    """
    return tuple(
        math.sqrt(2 / length) * scale * ((2 * math.pi * k / length) ** 2 + tau**2) ** (-gamma / 2)
        for k in range(1, modes + 1)
    )


@dataclass(frozen=True)
class PeriodicField:
    """u = Σ_k a_k cos(2πkx/L) + b_k sin(2πkx/L), where a_k and b_k are normal with deviation d_k.

    `deviations` are d_1, d_2, …; `power_law` gives those of the usual Gaussian random field, and
    `(1.0,)` is the space of all a cos x + b sin x. Sensors are uniform and include both ends.
    Between them u is its trigonometric interpolant, which is exact for every function of the space
    and, like any function read here, may have a mean. `modes` says how many pairs `coefficients`
    shows to a network (all, unless told).

        PeriodicField(x, 101, power_law(49, scale=625.0, tau=5.0, gamma=4.0))
    """

    coordinate: Coordinate
    count: int
    deviations: tuple[float, ...]
    modes: int | None = None

    def __post_init__(self) -> None:
        bandwidth = len(self.deviations)
        if not self.coordinate.periodic:
            raise PioError(f"coordinate {self.coordinate.name!r} of a periodic field is periodic.")
        if not 1 <= bandwidth <= (self.count - 2) // 2:
            raise PioError(
                f"{self.count} sensors, of which the last repeats the first, tell apart modes "
                f"1 to {(self.count - 2) // 2} (got {bandwidth} modes); take more sensors."
            )
        if self.modes is not None and not 1 <= self.modes <= bandwidth:
            raise PioError(
                f"u has modes 1 to {bandwidth} (got modes = {self.modes}); ask for no more."
            )

    @property
    def coordinates(self) -> tuple[str, ...]:
        return (self.coordinate.name,)

    @cached_property
    def sensors(self) -> np.ndarray:
        return np.linspace(self.coordinate.low, self.coordinate.high, self.count)

    @cached_property
    def _wavenumbers(self) -> np.ndarray:
        return 2 * np.pi * np.arange(1, len(self.deviations) + 1) / self.coordinate.length

    @cached_property
    def _harmonics(self) -> tuple[np.ndarray, np.ndarray]:
        """cos and sin of every mode at the sensors, (modes, sensors)."""
        phases = self._wavenumbers[:, None] * (self.sensors - self.coordinate.low)
        return np.cos(phases), np.sin(phases)

    @cached_property
    def _analysis(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Matrices from sensors to a_0, a_k and b_k: the trapezoidal rule, exact for our modes."""
        weights = np.full(self.count, 1 / (self.count - 1))
        weights[[0, -1]] /= 2
        cos, sin = self._harmonics
        return weights, (2 * weights * cos).T, (2 * weights * sin).T

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "n sensors"]:
        xi = jax.random.normal(key, (2, n, len(self.deviations)))
        cos, sin = (
            jnp.asarray(np.asarray(self.deviations)[:, None] * h, xi.dtype) for h in self._harmonics
        )
        return xi[0] @ cos + xi[1] @ sin

    def at(self, u: Float[Array, "*f sensors"], x: Float[Array, "..."]) -> Float[Array, "..."]:
        mean, a, b = (u @ jnp.asarray(m, u.dtype) for m in self._analysis)
        phases = (x - self.coordinate.low)[..., None] * jnp.asarray(self._wavenumbers, x.dtype)
        return mean + contract(a, jnp.cos(phases)) + contract(b, jnp.sin(phases))

    def centre(
        self, u: Float[Array, "*f sensors"]
    ) -> tuple[Float[Array, "*f sensors"], Float[Array, "*f"]]:
        """u moved so that its first harmonic is a positive cosine, and how far it was from there.

        u(x) = v(x − φ). What does not change when all is moved along the circle needs to be
        learned for v only.
        """
        mean, a, b = (u @ jnp.asarray(m, u.dtype) for m in self._analysis)
        phase = jnp.arctan2(b[..., :1], a[..., :1])
        turn = phase * jnp.asarray(np.arange(1, len(self.deviations) + 1), u.dtype)
        cos, sin = (jnp.asarray(h, u.dtype) for h in self._harmonics)
        moved = (a * jnp.cos(turn) + b * jnp.sin(turn)) @ cos
        moved = moved + (b * jnp.cos(turn) - a * jnp.sin(turn)) @ sin
        shift = phase[..., 0] * (self.coordinate.length / (2 * math.pi))
        return moved + mean[..., None], shift

    def coefficients(self, u: Float[Array, "*f sensors"]) -> Float[Array, "*f pairs"]:
        modes = len(self.deviations) if self.modes is None else self.modes
        _, a, b = self._analysis
        pairs = np.stack([a[:, :modes], b[:, :modes]], -1).reshape(self.count, 2 * modes)
        return u @ jnp.asarray(pairs, u.dtype)
