"""A report on a run: its errors against every reference, kept with figures in its directory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pio._certificate import relative_errors
from pio._errors import PioError
from pio._errors_file import NAME, ErrorsFile
from pio._evaluate import Evaluation, evaluate, predict
from pio._figures import curves, distribution, drawable, panels, save
from pio._run import Run
from pio._solutions import Progress, Solutions, solutions
from pio._warning import PioWarning


@dataclass(frozen=True, eq=False)
class Report:
    """Evaluations by reference, the truth first; the file that keeps them, if one does, and figures."""

    evaluations: Mapping[str, Evaluation]
    figures: tuple[Path, ...]
    kept: Path | None = None


def report(
    run: Run,
    functions: int | None = None,
    *,
    seed: int = 0,
    figures: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Evaluate a run on its test functions, or on so many; keep `errors.npz` and `figures/`.

    Another `seed` draws other functions than those that training looked at. What cannot be kept is
    returned nonetheless, with a warning.
    """
    functions = functions or run.config.train.test_functions
    found = evaluate(run.model, run.params, functions, seed=seed, progress=progress)
    errors = {name: evaluation.errors for name, evaluation in found.items()}
    truth = solutions(run.equation, functions, seed=seed)
    try:
        ErrorsFile.of(run.equation, errors, truth, seed).write(run.path)
    except OSError as error:
        _warn(run, f"the errors cannot be kept in {run.path}: {error.strerror or error}")
        return Report(found, ())
    kept = run.path / NAME
    try:
        return Report(found, _draw(run, truth, errors) if figures else (), kept)
    except PioError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        _warn(run, str(error).rstrip("."))
        return Report(found, (), kept)


def _warn(run: Run, why: str) -> None:
    text = f"{why}; make {run.path} writable, or make room, and evaluate again."
    warnings.warn(text, PioWarning, stacklevel=3)


def _draw(run: Run, truth: Solutions, errors: Mapping[str, np.ndarray]) -> tuple[Path, ...]:
    name = f"{run.config.equation.name} {run.config.arch.name}"
    home = run.path / "figures"
    drawn = [save(distribution(errors, name), home / "errors.png")]
    if records := run.metrics():
        drawn.append(save(curves(records, name), home / "curves.png"))
    if drawable(run.equation):
        error = errors[truth.reference]
        order = error.argsort()
        # Best, median and worst; a set of one or two has fewer.
        chosen = list(dict.fromkeys((order[0], order[len(order) // 2], order[-1])))
        predicted = predict(run.model, run.params, truth.u[chosen], truth.points)
        title = f"best, median and worst of {len(truth.u)} test functions"
        several = len(truth.s) > 1
        for unknown, values in truth.s.items():
            figure = panels(
                run.equation,
                truth.u[chosen],
                values[chosen],
                predicted[unknown],
                truth.points,
                # Of a system, `error` is the mean over its unknowns; a row shows its own.
                relative_errors(predicted[unknown], values[chosen]),
                f"{name}{f', {unknown}' if several else ''}: {title}",
            )
            file = f"predictions-{unknown}.png" if several else "predictions.png"
            drawn.append(save(figure, home / file))
    return tuple(drawn)
