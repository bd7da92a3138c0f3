"""Checks of a weighting: its weights, its state, and whether it needs what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pio._weighting import NEEDS
from pio.testing._check import Advice, Failure, check, require
from pio.testing._subject import Subject
from pio.testing._try import gap

SHAPES = {"residual": (3, 1, 4), "initial": (3, 2, 1), "second": (3, 2, 4)}
"""A structured batch: three functions at two places and four times."""

ROWS = {name: int(np.prod(shape)) for name, shape in SHAPES.items()}
OWNERS = {"residual": "residual", "second": "residual", "initial": "initial"}

# Residuals that runs meet: as they begin, as they end, and when they diverge.
ORDINARY = (1.0, -0.3, 0.02, 2.5)
EXTREME = {
    "all zero": (0.0,),
    "tiny": (1e-30, -1e-35, 0.0),
    "of all sizes": (0.0, 1e-12, -1.0, 1e12),
    "so large that their squares overflow": (1e30, -1e25, 1.0),
    "infinite": (float("inf"), 1.0, float("-inf")),
    "not numbers": (float("nan"), 1.0),
}


def residuals(sizes: tuple[float, ...], dtype: Any = jnp.float64) -> dict[str, Any]:
    """Residuals of three terms with these values, over and over."""
    return {
        name: jnp.asarray(np.resize(np.array(sizes), shape), dtype)
        for name, shape in SHAPES.items()
    }


def told(found: Mapping[str, Any], step: Any = 0, seed: int = 0) -> dict[str, Any]:
    """What a loss gives beside residuals; other numbers for another seed."""
    rng = np.random.default_rng(seed)
    found = dict(sorted(found.items()))  # as they come out of a compiled program

    def random(shape: tuple[int, ...], like: Any) -> Any:
        return jnp.asarray(rng.uniform(0.5, 2.0, shape), like.dtype)

    norms = {name: random((), r) for name, r in found.items()}
    kernels = {name: random(r.shape, r) for name, r in found.items()}
    rows = {
        name: jnp.asarray(rng.permutation(r.size).reshape(r.shape), jnp.int32)
        for name, r in found.items()
    }
    points = {
        name: {
            "x": random((1, r.shape[1], 1), r),
            "t": jnp.sort(random((1, 1, r.shape[2]), r), descending=seed > 0),
        }
        for name, r in found.items()
    }
    return {
        "step": jnp.asarray(step, jnp.int32),
        "owners": OWNERS,
        "kernels": kernels,
        "rows": rows,
        "points": points,
        "inputs": {name: random((r.shape[0], 5), r) for name, r in found.items()},
        "norms": lambda: norms,
    }


def _update(
    subject: Subject, bits: int = 64
) -> tuple[Any, Callable[[Any, dict[str, Any], Any], Any]]:
    """The first state, and an update in a precision, compiled."""
    weighting = subject.product

    def step(state: Any, found: dict[str, Any], number: Any) -> Any:
        return weighting.update(state, found, **told(found, number))

    with jax.enable_x64(bits == 64):
        return weighting.init(ROWS), jax.jit(step)


@check("weighting", after="makes")
def weights(subject: Subject) -> None:
    """Weights are finite, positive and broadcast with the residuals, whatever those are."""
    mend = (
        "bound what is divided by from below and what is squared or exponentiated from above, and replace what is not "
        "a number (jnp.nan_to_num, jnp.clip)."
    )
    for bits in (32, 64):
        state, update = _update(subject, bits)
        for what, sizes in {"ordinary": ORDINARY, **EXTREME}.items():
            with jax.enable_x64(bits == 64):
                found = residuals(sizes, jnp.dtype(f"float{bits}"))
                given, after = update(state, found, jnp.asarray(0, jnp.int32))
                then, _ = update(after, found, jnp.asarray(1, jnp.int32))
            _require_fitting(subject, given, found, bits)
            for name, w in [*given.items(), *then.items()]:
                require(
                    np.isfinite(w).all() and (np.asarray(w) > 0).all(),
                    f"{subject.noun} gives {name!r} a weight of {_worst(w):g} when residuals are {what} (float{bits}).",
                    mend
                    if what != "ordinary"
                    else "a weight is a positive number: the loss is the sum of mean(w r²).",
                )


def _worst(w: Any) -> float:
    values = np.ravel(np.asarray(w))
    bad = ~np.isfinite(values)
    return float(values[bad][0] if bad.any() else values.min())


def _require_fitting(
    subject: Subject, given: Mapping[str, Any], found: Mapping[str, Any], bits: int
) -> None:
    require(
        set(given) == set(found),
        f"{subject.noun}.update returns weights of {', '.join(given)} for residuals {', '.join(found)}.",
        "return one weight, or array of weights, for each of the residuals by name.",
    )
    for name, w in given.items():
        shape = found[name].shape
        fits = np.ndim(w) == len(shape) and all(
            n in (1, most) for n, most in zip(np.shape(w), shape, strict=True)
        )
        require(
            fits,
            f"{subject.noun} gives {name!r} weights of shape {np.shape(w)} for residuals of shape {shape}.",
            "keep as many axes as the residuals have, of length one where weights do not vary: "
            "jnp.full((1,) * r.ndim, w, r.dtype).",
        )
        require(
            w.dtype == f"float{bits}",
            f"{subject.noun} gives {name!r} weights in {w.dtype} for residuals in float{bits}.",
            "give weights the dtype of the residuals: w.astype(r.dtype).",
        )


@check("weighting", after="makes weights")
def state(subject: Subject) -> None:
    """Its state is a pytree of arrays that keeps its shapes and types."""
    for bits in (32, 64):
        before, update = _update(subject, bits)
        with jax.enable_x64(bits == 64):
            found = residuals(ORDINARY, jnp.dtype(f"float{bits}"))
            odd = [leaf for leaf in jax.tree.leaves(before) if not hasattr(leaf, "dtype")]
            require(
                not odd,
                f"{subject.noun}.init returns {odd and odd[0]!r}, which is no array.",
                "make every number in the state an array: jnp.asarray(0.0).",
            )
            try:
                after = update(before, found, jnp.asarray(0, jnp.int32))[1]
            except jax.errors.TracerArrayConversionError as error:
                raise Failure(
                    f"{subject.noun}.update cannot be compiled: {str(error).splitlines()[0]}",
                    "use jax.numpy, and jax.lax.cond or jnp.where in place of `if` on values.",
                ) from error
        one, other = (
            [
                (jax.tree_util.keystr(path), leaf.shape, str(leaf.dtype))
                for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
            ]
            for tree in (before, after)
        )
        changed = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), None)
        require(
            one == other,
            f"the state of {subject.noun} changes from {changed[0] if changed else one} to "
            f"{changed[1] if changed else other} in one update (float{bits}): every step would be compiled anew.",
            "keep the structure, and give what is computed the dtype that it had: x.astype(state.x.dtype).",
        )


@check("weighting", after="makes weights")
def needs(subject: Subject) -> None:
    """It uses what it declares to need, and nothing else."""
    weighting = subject.product
    unknown = sorted(set(weighting.needs) - NEEDS)
    require(
        not unknown,
        f"{subject.noun} needs {', '.join(unknown)}, which no loss gives.",
        f"ask for some of {', '.join(sorted(NEEDS))}.",
    )
    keywords = {"kernels": {"ck", "ntk"}, **{n: {n} for n in ("rows", "points", "inputs", "norms")}}
    first = weighting.init(ROWS)

    def update(found: Mapping[str, Any], changed: str = "") -> list[Any]:
        """The weights of three updates, with something else given under one keyword at each."""
        seen, state = [], first
        for number in (0, 1, 100):
            given = told(found, number)
            if changed:
                given[changed] = told(found, number, seed=1 + number)[changed]
            w, state = weighting.update(state, found, **given)
            seen.append(w)
        return seen

    plain = residuals(ORDINARY)
    base = update(plain)
    used = {name for name in keywords if _differ(base, update(plain, name))}
    if _differ(base, update(residuals((0.7, 3.0, -0.1)))):
        used.add("residuals")
    # Whoever declares anything but these is given the residuals themselves, not their shapes alone.
    sees = bool(set(weighting.needs) - {"inputs", "norms"})
    undeclared = [
        name
        for name in sorted(used)
        if not (sees if name == "residuals" else keywords[name] & set(weighting.needs))
    ]
    require(
        not undeclared,
        f"the weights of {subject.noun} depend on {' and '.join(undeclared)}, which its needs "
        f"({', '.join(sorted(weighting.needs)) or 'none'}) do not declare: in training they would see nothing of it.",
        "add "
        + ", ".join("'ck' or 'ntk'" if n == "kernels" else repr(n) for n in undeclared)
        + " to `needs`.",
    )
    idle = [n for n, names in keywords.items() if names & set(weighting.needs) and n not in used]
    if idle:
        raise Advice(
            f"{subject.noun} declares that it needs {' and '.join(idle)}, but its weights do not depend on it.",
            "Leave it out of `needs`: finding it takes time at every step.",
        )


def _differ(one: Any, other: Any) -> bool:
    return any(map(lambda a, b: gap(a, b) > 1e-9, *map(jax.tree.leaves, (one, other))))


@check("weighting", after="makes weights state")
def pure(subject: Subject) -> None:
    """The same residuals and state give the same weights, compiled or not."""
    first, update = _update(subject)
    found = residuals(ORDINARY)
    zero = jnp.asarray(0, jnp.int32)
    given = told(found, zero)
    plain = subject.product.update(first, found, **given)[0]
    for other in (subject.product.update(first, found, **given)[0], update(first, found, zero)[0]):
        require(
            not _differ(plain, other),
            f"{subject.noun}.update gives other weights at a second call with the same state and residuals.",
            "keep all that changes in the state; use no attribute, global variable or NumPy random number.",
        )
