"""The plainest of everything, to try a plugin with: none of it may be missing, or broken itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from pio._architecture import Inputs, Network
from pio._domain import Coordinate, Domain
from pio._equation import Condition, Reference
from pio._gaussian import GaussianField
from pio._latents import Affine, Latents
from pio._optimizer import clipped
from pio._options import option
from pio._periodic import PeriodicField
from pio._recipe import Blocks, Choice, Recipe
from pio._registry import Entry, Registry, Source
from pio._weighting import Residuals

if TYPE_CHECKING:
    from pio.testing._subject import Subject


@dataclass(frozen=True)
class Plain:
    """A DeepONet of one tanh layer: the branch reads u, the trunk t and x."""

    width: int = option(6, "neurons of each layer")

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        return {"branch": ("u",), "trunk": ("t", "x")}

    def network(self, outputs: int) -> Network:
        def init(key: PRNGKeyArray, inputs: Inputs) -> dict[str, dict[str, Array]]:
            keys = jax.random.split(key, len(inputs))
            return {
                name: self._tower(own, features, outputs)
                for own, (name, features) in zip(keys, inputs.items(), strict=True)
            }

        def apply(params: Any, inputs: Inputs) -> Latents:
            return Latents(*(_last(params[side], inputs[side]) for side in ("branch", "trunk")))

        return Network(init, apply)

    def _tower(self, key: PRNGKeyArray, features: Any, outputs: int) -> dict[str, Array]:
        shapes: dict[str, tuple[int, ...]] = {}
        shapes |= {f"in_{k}": (f.shape[-1], self.width) for k, f in enumerate(features)}
        shapes |= {"b": (self.width,), "w": (self.width, self.width * outputs)}
        shapes["c"] = (self.width * outputs,)
        keys = jax.random.split(key, len(shapes))
        return {
            name: jax.random.normal(k, shape, features[0].dtype) / np.sqrt(shape[0]).item()
            for k, (name, shape) in zip(keys, shapes.items(), strict=True)
        }


def _last(p: Mapping[str, Array], features: Any) -> Affine:
    parts = [f @ p[f"in_{k}"] for k, f in enumerate(features)]
    return Affine(jnp.tanh(sum(parts, p["b"])), p["w"], p["c"])


@dataclass(frozen=True)
class Bare:
    """Coordinates as they are."""

    def groups(self, domain: Domain) -> tuple[tuple[str, ...], ...]:
        del domain
        return ()

    def embed(
        self, domain: Domain, group: tuple[str, ...], *values: Float[Array, "..."]
    ) -> Float[Array, "... channels"]:
        raise AssertionError(f"nothing of {domain} is embedded, so not {group} at {values}")


@dataclass(frozen=True)
class Ones:
    """Every residual counts alike."""

    needs = frozenset[str]()

    def init(self, rows: Mapping[str, int]) -> tuple[()]:
        del rows
        return ()

    def update(
        self, state: tuple[()], residuals: Residuals, **given: Any
    ) -> tuple[dict[str, Array], tuple[()]]:
        del given
        return {k: jnp.ones((1,) * r.ndim, r.dtype) for k, r in residuals.items()}, state


@dataclass(frozen=True)
class Descent:
    """Plain gradient descent."""

    def transform(self, steps: int) -> optax.GradientTransformationExtraArgs:
        del steps
        return clipped(optax.sgd(1e-3))

    def rate(self, step: Any, steps: int) -> Float[Array, ""]:
        del step, steps
        return jnp.asarray(1e-3)


@dataclass(frozen=True)
class Problem:
    """s_t = ν s_xx on a circle or an interval, or a system of two: something to ask a network for."""

    unknowns: tuple[str, ...] = option(("s",), "one or two names")
    periodic: bool = option(True, "whether x is")
    nu: float = option(0.1, "diffusivity")

    @property
    def domain(self) -> Domain:
        return Domain(Coordinate("x", 0.0, 2.0, periodic=self.periodic), Coordinate("t"))

    @property
    def inputs(self) -> PeriodicField | GaussianField:
        x = self.domain["x"]
        return PeriodicField(x, 16, (1.0, 0.5)) if self.periodic else GaussianField(x, 16, 1.0)

    @property
    def grid(self) -> Mapping[str, np.ndarray]:
        return {"x": np.linspace(0.0, 2.0, 5), "t": np.linspace(0.0, 1.0, 5)}

    @property
    def residual(self) -> Any:
        def one(s_t: Array, s_xx: Array) -> Array:
            return s_t - self.nu * s_xx

        def two(p_t: Array, q_xx: Array, q_t: Array, p: Array) -> dict[str, Array]:
            return {"first": p_t - self.nu * q_xx, "second": q_t + p}

        return one if len(self.unknowns) == 1 else two

    def conditions(self) -> tuple[Condition, ...]:
        if len(self.unknowns) == 1:
            return (Condition("initial", {"t": 0.0}, lambda s, u: s - u),)
        return (Condition("initial", {"t": 0.0}, lambda p, u: p - u),)

    @property
    def references(self) -> Mapping[str, Reference]:
        return {}

    @property
    def presets(self) -> Mapping[str, Recipe]:
        plain = Recipe(
            steps=3,
            sampling=Blocks(2, {"x": 3, "t": 2}),
            architecture={},
            embedding=Choice("pio-bare"),
            weighting=Choice("pio-ones"),
            optimizer=Choice("pio-descent"),
            constraints="soft",
            precision=64,
            train_functions=None,
            test_functions=1,
        )
        return {"fast": plain}


PLAIN = {
    "equation": ("pio-problem", Problem),
    "architecture": ("pio-plain", Plain),
    "embedding": ("pio-bare", Bare),
    "weighting": ("pio-ones", Ones),
    "optimizer": ("pio-descent", Descent),
}


def equipped(subject: Subject) -> tuple[Registry, dict[str, Any]]:
    """The subject's registry with the plain ones in it, and a config of the subject with plain others."""
    entries = [Entry(kind, name, made, "", Source()) for kind, (name, made) in PLAIN.items()]
    registry = replace(subject.registry, entries=(*subject.registry.entries, *entries), _loaded={})
    plain = {kind: {"name": PLAIN[kind][0]} for kind in ("equation", "architecture")}
    own = {subject.kind: {"name": subject.name, **subject.options}}
    return registry, {**plain, **own}
