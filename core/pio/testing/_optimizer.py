"""Checks of an optimizer: that it is a transformation as optax means it, and descends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pio.testing._check import check, measured, require
from pio.testing._subject import Subject
from pio.testing._try import compiled

STEPS = 200
SHAPE = (6, 4)


def bowl(params: Any) -> Any:
    """A quadratic of a matrix and a vector, ten times steeper in some directions than in others."""
    w = params["layer"]["w"]
    steep = jnp.asarray(np.logspace(0, -1, w.size).reshape(w.shape), w.dtype)
    target = jnp.asarray(np.random.default_rng(2).normal(size=w.shape), w.dtype)
    return jnp.sum(steep * (w - target) ** 2) + jnp.sum((params["b"] - 1) ** 2)


@measured
def _path(subject: Subject, bits: int) -> tuple[Any, Any, Any, np.ndarray]:
    """The first state, the last state, the last parameters, and the losses in between."""
    transformation = optax.with_extra_args_support(subject.product.transform(STEPS))
    with jax.enable_x64(bits == 64):
        dtype = jnp.dtype(f"float{bits}")
        params = {"layer": {"w": jnp.zeros(SHAPE, dtype)}, "b": jnp.zeros(3, dtype)}
        first = jax.tree.map(jnp.asarray, transformation.init(params))

        @compiled
        def step(params: Any, state: Any) -> Any:
            value, grads = jax.value_and_grad(bowl)(params)
            updates, state = transformation.update(
                grads, state, params, value=value, grad=grads, value_fn=bowl
            )
            return optax.apply_updates(params, updates), state, value

        state, losses = first, []
        for _ in range(STEPS):
            params, state, value = step(params, state)
            losses.append(float(value))
        return first, state, params, np.array(losses)


@check("optimizer", after="makes")
def transformation(subject: Subject) -> None:
    """`transform(steps)` is an optax transformation that takes what the loop gives it."""
    found = subject.product.transform(STEPS)
    require(
        isinstance(found, optax.GradientTransformation),
        f"{subject.noun}.transform returns {type(found).__name__}.",
        "return optax.GradientTransformation(init, update), or pio.clipped(optax.adam(…)).",
    )
    _path(subject, 64)  # with value, grad and value_fn as keywords


@check("optimizer", after="makes transformation")
def state(subject: Subject) -> None:
    """State and parameters are arrays that keep their shapes and types."""
    for bits in (32, 64):
        first, last, params, _ = _path(subject, bits)
        one, other = (
            [
                (jax.tree_util.keystr(path), np.shape(leaf), str(leaf.dtype))
                for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
            ]
            for tree in (first, last)
        )
        changed = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), None)
        require(
            one == other,
            f"the state of {subject.noun} changes from {changed[0] if changed else one} to "
            f"{changed[1] if changed else other} in float{bits}: every step would be compiled anew.",
            "keep the structure, and give what is computed the dtype that it had.",
        )
        odd = {str(p.dtype) for p in jax.tree.leaves(params)} - {f"float{bits}"}
        require(
            not odd,
            f"{subject.noun} turns parameters in float{bits} into {', '.join(odd)}.",
            "wrap the transformation in pio.clipped, and give its numbers the dtype of the gradient.",
        )


@check("optimizer", after="makes transformation")
def descends(subject: Subject) -> None:
    """It goes down a quadratic bowl, in single and double precision."""
    for bits in (32, 64):
        losses = _path(subject, bits)[-1]
        require(
            np.isfinite(losses).all(),
            f"{subject.noun} leaves the numbers after {int(np.isfinite(losses).sum())} steps down a quadratic (float{bits}).",
            "take a smaller learning rate by default, or shorten gradients with pio.clipped(…, norm).",
        )
        require(
            losses[-1] < 0.99 * losses[0],
            f"{subject.noun} takes a quadratic from {losses[0]:.4g} to {losses[-1]:.4g} in {STEPS} steps (float{bits}).",
            "look at the sign of the updates, which optax adds to the parameters, and at the learning rate.",
        )


@check("optimizer", after="makes transformation")
def pure(subject: Subject) -> None:
    """The same steps give the same parameters."""
    again = Subject(subject.kind, subject.name, subject.registry, subject.options)
    one, other = (_path(s, 64)[2] for s in (subject, again))
    require(
        all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other))),
        f"{subject.noun} takes other steps when the same run is repeated.",
        "keep all that changes in the state; use no attribute, global variable or NumPy random number.",
    )


@check("optimizer", after="makes")
def rate(subject: Subject) -> None:
    """The learning rate is a positive number at every step, traced or not."""
    of: Callable[..., Any] = subject.product.rate
    found = np.array([float(of(n, STEPS)) for n in (0, 1, STEPS // 2, STEPS - 1)])
    require(
        np.isfinite(found).all() and (found > 0).all(),
        f"{subject.noun}.rate is {', '.join(f'{r:g}' for r in found)} at the first, second, middle and last of "
        f"{STEPS} steps.",
        "return a positive number for each step from 0 to steps − 1 (pio.Schedule does).",
    )
    traced = jax.jit(lambda n: of(n, STEPS))(jnp.asarray(STEPS // 2))
    require(
        abs(float(traced) - found[2]) <= 1e-6 * found[2],
        f"{subject.noun}.rate is {float(traced):g} under jax.jit, and {found[2]:g} otherwise.",
        "compute it with jax.numpy from the step.",
    )
