"""Input functions with one thing wrong are caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.core.caught import REGISTRY, assert_caught
from tests.core.heat import Heat

import pio
import pio.testing


@dataclass(frozen=True)
class Space:
    """A function space with one thing wrong."""

    mode: str = "unseeded"
    coordinates: ClassVar[Any] = ("x",)

    @property
    def sensors(self):
        return np.linspace(0, 1, 24)

    def sample(self, key, n):
        if self.mode == "unseeded":
            return jnp.asarray(np.random.default_rng().normal(size=(n, 24)))
        if self.mode == "constant":
            return jnp.ones((n, 1)) * jnp.sin(2 * jnp.pi * self.sensors)
        phase = jax.random.uniform(key, (n, 1))
        return jnp.sin(2 * jnp.pi * (self.sensors + phase))

    def at(self, u, x):
        if self.mode == "linear":
            cells = x * 23
            k = jnp.clip(jnp.floor(cells).astype(int), 0, 22)
            u, k = jnp.broadcast_arrays(u, k[..., None])
            low, high = (jnp.take_along_axis(u, k + d, -1)[..., 0] for d in (0, 1))
            return low + (cells - k[..., 0].astype(x.dtype)) * (high - low)
        basis = jnp.stack([jnp.sin(2 * jnp.pi * x), jnp.cos(2 * jnp.pi * x)], -1)
        points = np.stack([np.sin(2 * np.pi * self.sensors), np.cos(2 * np.pi * self.sensors)])
        shift = 0.3 if self.mode == "shifted" else 0.0
        return pio.contract(u @ np.linalg.pinv(points), basis) + shift


class With(Heat):
    mode: ClassVar[str]

    @property
    def inputs(self):
        return Space(self.mode)


@pytest.mark.parametrize(
    ("mode", "check", "what"),
    [
        ("unseeded", "sampling", "other functions at a second call with the same key"),
        ("constant", "sampling", "the same functions for two different keys"),
        ("shifted", "sensors", r"Space\.at differs from u by 0\.\d+ .* at the sensors"),
        ("linear", "smooth", r"differentiates 2 times by x, but derivative 2 of Space\.at"),
    ],
)
def test_input_functions_that_are_odd_are_caught(mode, check, what):
    assert_caught("equation", type("Odd", (With,), {"mode": mode}), check, what)


class Trace:
    """A space that is another one every time."""

    coordinates, sensors = ("x",), np.linspace(0, 1, 24)
    sample, at = Space.sample, Space.at
    mode = "sound"


class Anew(Heat):
    @property
    def inputs(self):
        return Trace()


def test_a_space_that_is_compiled_again_and_again_is_caught():
    assert_caught("equation", Anew, "spaces", "another Trace for each Anew", "frozen dataclass")


@dataclass
class Thawed:
    """Not frozen, so that it cannot be hashed."""

    mode: str = "sound"
    coordinates, sensors = ("x",), np.linspace(0, 1, 24)
    sample, at = Space.sample, Space.at


class Abroad(Space):
    coordinates: ClassVar[Any] = ("z",)


class Unhashable(Heat):
    inputs: ClassVar[Any] = property(lambda self: Thawed())


class Unmade(Heat):
    inputs: ClassVar[Any] = Space


class Astray(Heat):
    inputs: ClassVar[Any] = Abroad("sound")


def test_spaces_that_are_not_what_they_should_be_are_named():
    suite = [c.name for c in pio.testing.suite("equation", Heat, registry=REGISTRY).checks]
    assert suite.index("spaces") < suite.index("sensors")
    assert_caught("equation", Unhashable, "spaces", "Thawed cannot be hashed", "frozen dataclass")
    assert_caught("equation", Unmade, "makes", r"Unmade\.inputs is a class; make one: Space\(\)")
    assert_caught("equation", Astray, "sampling", "functions of z, but the coordinates are x, t")


def test_a_space_that_cannot_be_hashed_fails_one_check():
    found = pio.testing.suite("equation", Unhashable, registry=REGISTRY).results()
    assert [r.check for r in found if r.state == "failed"] == ["spaces"]
