"""`pio evaluate`: how far a run is from the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pio._json import to_json
from pio._registry import Registry
from pio_cli._complete import runs
from pio_cli._plugins import with_registry
from pio_cli._screen import bar
from pio_cli._seeds import SEED

if TYPE_CHECKING:
    from pio import Report

COLUMNS = ("mean", "std", "min", "q1", "median", "q3", "max")


@click.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=runs)
@click.option("--functions", type=click.IntRange(1), help="How many.  [default: as in training]")
@click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    metavar="N",
    help="Which test functions; 0 is training's.",
)
@click.option("--no-figures", is_flag=True, help="Only measure.")
@click.option("--json", "as_json", is_flag=True, help="JSON, one object a line.")
@with_registry
def evaluate(
    registry: Registry,
    run: Path,
    functions: int | None,
    seed: int,
    no_figures: bool,
    as_json: bool,
) -> None:
    """Measure the error of RUN on test functions, against every reference.

    An error is ‖s − reference‖ / ‖reference‖ in L2 over the equation's grid, one per function. Each
    is kept in RUN/errors.npz; figures are drawn to RUN/figures.
    """
    from pio import load_run, report

    loaded = load_run(run, registry)
    with bar(f"test functions of {loaded.config.equation.name}") as progress:
        found = report(loaded, functions, seed=seed, figures=not no_figures, progress=progress)
    if as_json:
        for name, evaluation in found.evaluations.items():
            about = {"run": str(run), "reference": name, "functions": len(evaluation.errors)}
            click.echo(to_json({**about, "seed": seed, **evaluation.summary}))
    else:
        _draw(run, found)


def _draw(run: Path, found: Report) -> None:
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    table = Table("against", "functions", *COLUMNS, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, evaluation in found.evaluations.items():
        summary = evaluation.summary
        values = (f"{summary[column]:.3%}" for column in COLUMNS)
        table.add_row(name, str(len(evaluation.errors)), *values)
    files = [*filter(None, [found.kept]), *found.figures]
    kept = [Text("\n".join(map(str, files)), "dim")] if files else []
    draw(Text(f"{run}: relative L2 error", "bold"), table, *kept)
