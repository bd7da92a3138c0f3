"""A report on a run: its errors against every reference, kept with figures in its directory."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pio._errors import PioError
from pio._evaluate import Evaluation, evaluate, predict
from pio._figures import curves, distribution, drawable, panels, save
from pio._files import write
from pio._run import Run
from pio._solutions import Progress, solutions


@dataclass(frozen=True, eq=False)
class Report:
    """Evaluations by reference, the truth first, and the figures that were drawn."""

    evaluations: Mapping[str, Evaluation]
    figures: tuple[Path, ...]


def report(
    run: Run,
    functions: int | None = None,
    *,
    seed: int = 0,
    figures: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Evaluate a run on its test functions, or on so many; keep `errors.npz` and `figures/`.

    Another `seed` draws other functions than those that training looked at.
    """
    functions = functions or run.config.train.test_functions
    found = evaluate(run.model, run.params, functions, seed=seed, progress=progress)
    errors = {name: evaluation.errors for name, evaluation in found.items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **errors)
    try:
        write(run.path / "errors.npz", file.getvalue())
    except OSError as error:
        raise PioError(
            f"cannot keep errors in {run.path}: {error.strerror or error}; make it writable, or make room."
        ) from error
    drawn = _draw(run, functions, seed, errors) if figures else ()
    return Report(found, drawn)


def _draw(
    run: Run, functions: int, seed: int, errors: Mapping[str, np.ndarray]
) -> tuple[Path, ...]:
    name = f"{run.config.equation.name} {run.config.arch.name}"
    home = run.path / "figures"
    drawn = [save(distribution(errors, name), home / "errors.png")]
    if records := run.metrics():
        drawn.append(save(curves(records, name), home / "curves.png"))
    if drawable(run.equation):
        truth = solutions(run.equation, functions, seed=seed)
        error = errors[truth.reference]
        order = error.argsort()
        # Best, median and worst; a set of one or two has fewer.
        chosen = list(dict.fromkeys((order[0], order[len(order) // 2], order[-1])))
        predicted = predict(run.model, run.params, truth.u[chosen], truth.points)
        unknown = run.equation.unknowns[0]
        figure = panels(
            run.equation,
            truth.u[chosen],
            truth.s[unknown][chosen],
            predicted[unknown],
            truth.points,
            error[chosen],
            f"{name}: best, median and worst of {functions} test functions",
        )
        drawn.append(save(figure, home / "predictions.png"))
    return tuple(drawn)
