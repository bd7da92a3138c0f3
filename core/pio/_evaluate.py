"""Evaluation: what a model predicts, how far that is from the truth, and how well it obeys the PDE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pio._batch import Batch
from pio._certificate import relative_errors
from pio._errors import PioError
from pio._model import Model, Params
from pio._slices import in_slices, lengths, row_limit
from pio._solutions import Progress, Solutions, solutions
from pio._solve import check_inputs, check_points
from pio._space import draw

# Values that one call on the device returns at most: 8 MB in single precision.
VALUES = 2**21


def predict(
    model: Model, params: Params, u: Any, points: Mapping[str, Any] | None = None
) -> dict[str, np.ndarray]:
    """The unknowns for each u, `(functions, sensors)`, aligned on the domain's axes, by name.

    They are given on the equation's grid unless `points` says otherwise: one increasing array per
    coordinate. Memory is bounded by what is returned; the computation is compiled once per model
    and shape.

        s = pio.predict(model, params, u)["s"]                            # (f, x, t)
        s = pio.predict(model, params, u, {"x": x, "t": [0.5, 1.0]})["s"]
    """
    u = check_inputs(model.equation, u)
    points = check_points(model.equation, model.equation.grid if points is None else points)
    parts = [part for _, part in _parts(_unknowns, model, params, u, points)]
    s = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    sound = np.all([np.isfinite(value.reshape(len(u), -1)).all(1) for value in s.values()], axis=0)
    if not sound.all():
        bad = np.flatnonzero(~sound)
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise PioError(
            f"function {bad[0]}{more}: the prediction is not a number; was u admissible? Leave it out, or give "
            "one of the functions that the equation is for."
        )
    return s


def prediction_errors(model: Model, params: Params, testset: Solutions) -> np.ndarray:
    """The relative L2 error of each function of a test set, over its grid.

    Of a system, the mean over its unknowns.
    """
    errors = []
    for where, s in _parts(_unknowns, model, params, testset.u, testset.points):
        each = [relative_errors(s[name], truth[where]) for name, truth in testset.s.items()]
        errors.append(np.mean(each, axis=0))
    return np.concatenate(errors)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Relative L2 errors of one model, per test function, against one reference."""

    reference: str
    errors: np.ndarray

    @property
    def summary(self) -> dict[str, float]:
        """Mean, standard deviation, quartiles and extremes."""
        low, first, median, third, high = np.quantile(self.errors, (0, 0.25, 0.5, 0.75, 1))
        return {
            "mean": float(self.errors.mean()),
            "std": float(self.errors.std()),
            "min": float(low),
            "q1": float(first),
            "median": float(median),
            "q3": float(third),
            "max": float(high),
        }


def evaluate(
    model: Model,
    params: Params,
    functions: int,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Evaluation]:
    """The errors of a model against every reference of its equation, the truth first.

    Test sets come from the cache, or are made and kept.
    """
    return {
        name: Evaluation(name, prediction_errors(model, params, testset))
        for name in model.equation.references
        for testset in [
            solutions(model.equation, functions, seed=seed, reference=name, progress=progress)
        ]
    }


@dataclass(frozen=True, eq=False)
class Light:
    """A warning light: how well predictions obey the PDE, beside what is usual for this model.

    `residual` is the root mean square residual of each prediction over the domain; `usual` holds
    the same for functions drawn from the equation's own space. A residual that few of these have
    tells that a u lies outside of what was learned. One that is as usual does not prove that a
    prediction is as good as usual: where conditions are not met exactly, they are not looked at.
    """

    residual: np.ndarray
    usual: np.ndarray

    @cached_property
    def ratio(self) -> np.ndarray:
        """Residuals as multiples of the usual median."""
        return np.asarray(self.residual / np.median(self.usual))

    @cached_property
    def rank(self) -> np.ndarray:
        """The share of usual functions with a smaller residual."""
        return np.asarray((self.usual[None, :] < self.residual[:, None]).mean(1))

    @property
    def warns(self) -> np.ndarray:
        """Whether a residual is not finite, or larger than for all the usual functions."""
        return np.asarray(~np.isfinite(self.residual) | (self.rank >= 1.0))


def light(
    model: Model, params: Params, u: Any, *, usual: int = 64, points: int = 32, seed: int = 0
) -> Light:
    """Compare the residuals of predictions with those of functions drawn as in training.

    Residuals are taken at so many points of each coordinate, spread evenly inside the domain.
    """
    if usual < 1 or points < 1:
        raise PioError(
            f"a warning light needs functions and points to compare (got {usual} and {points})."
        )
    u = check_inputs(model.equation, u)
    inside = {
        c.name: c.low + c.length * (np.arange(points) + 0.5) / points
        for c in model.equation.domain.coordinates
    }
    drawn = draw(model.equation.inputs, jax.random.fold_in(jax.random.key(seed), 0x11647), usual)
    return Light(_rms(model, params, u, inside), _rms(model, params, drawn, inside))


def _rms(
    model: Model, params: Params, u: np.ndarray, points: Mapping[str, np.ndarray]
) -> np.ndarray:
    found = []
    for _, residuals in _parts(_residuals, model, params, u, points):
        squares = [r.reshape(len(r), -1) ** 2 for r in residuals.values()]
        found.append(np.sqrt(np.concatenate(squares, 1).mean(1)))
    return np.concatenate(found)


# ---------------------------------------------------------------------------------------------
# One compiled function per model and shape, over some functions at a time


def _unknowns(model: Model, params: Params, batch: Batch) -> dict[str, Any]:
    return model.apply(params, batch)


def _residuals(model: Model, params: Params, batch: Batch) -> dict[str, Any]:
    found = model.residual(params, batch)
    found = dict(found) if isinstance(found, Mapping) else {"residual": found}
    return {name: jnp.broadcast_to(r, batch.shape) for name, r in found.items()}


def _parts(
    what: Callable[..., dict[str, Any]],
    model: Model,
    params: Params,
    u: np.ndarray,
    points: Mapping[str, np.ndarray],
) -> Iterator[tuple[slice, dict[str, np.ndarray]]]:
    """What is asked for, in float64, some functions at a time, and which these are."""
    grid = int(np.prod([len(p) for p in points.values()]))
    count = min(len(u), max(1, VALUES // grid))
    count = -(-len(u) // -(-len(u) // count))  # equal parts
    dtype = np.result_type(*(leaf.dtype for leaf in jax.tree.leaves(params)))
    # As in training: a single-precision model must not meet double-precision constants.
    with jax.enable_x64(dtype == np.float64):
        at = {name: jnp.asarray(points[name], dtype) for name in model.equation.domain.names}
        for start in range(0, len(u), count):
            part = u[start : start + count]
            # The last part is filled up, so that nothing is compiled for it alone.
            filled = np.concatenate([part, np.repeat(part[-1:], count - len(part), 0)])
            values = _compiled(what, model, params, jnp.asarray(filled, dtype), at)
            yield (
                slice(start, start + len(part)),
                {name: np.asarray(v, np.float64)[: len(part)] for name, v in values.items()},
            )


@partial(jax.jit, static_argnums=(0, 1))
def _compiled(
    what: Callable[..., dict[str, Any]], model: Model, params: Params, u: Any, points: Any
) -> dict[str, Any]:
    # A pytree of a mapping is sorted; a block is laid out in the domain's order.
    batch = Batch.block(u, **{name: points[name] for name in model.equation.domain.names})
    width = max((leaf.shape[-1] for leaf in jax.tree.leaves(params) if leaf.ndim), default=1)
    size = lengths(batch, model.visited(params, batch), row_limit(width, u.dtype))
    return dict(in_slices(partial(what, model, params), size, batch))
