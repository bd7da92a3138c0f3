"""`pio compare`: whether one model is better than another, and by how much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pio._errors import PioError
from pio._json import to_json
from pio._registry import Registry
from pio_cli._complete import runs as complete_runs
from pio_cli._plugins import with_registry
from pio_cli._screen import status

if TYPE_CHECKING:
    from rich.table import Table as Rich

    from pio import Comparison
    from pio._tables import Table

COLOURS = {"better": "green", "equivalent": "cyan", "worse": "red", "undecided": "yellow"}


def parse_margin(text: str | None) -> float | None:
    """A difference of errors: `0.001`, or `0.1%`."""
    if text is None:
        return None
    number, unit = (text.strip()[:-1], 0.01) if text.strip().endswith("%") else (text, 1.0)
    try:
        found = float(number) * unit
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise PioError(
            f"--margin is a positive difference of errors, such as 0.001 or 0.1% (got {text!r})."
        )
    return found


margin_option = click.option(
    "--margin",
    metavar="0.1%",
    help="The difference that counts as none.  [default: 0.2 × the baseline's least error]",
)
ranks_option = click.option(
    "--ranks",
    type=click.Choice(["textbook", "published"]),
    default="textbook",
    show_default=True,
    help="Ranks of the tests of equivalence: of |d ± margin|, or of |d| as the paper has it.",
)


@click.command()
@click.argument(
    "runs",
    nargs=-1,
    required=True,
    metavar="RUN...",
    type=click.Path(path_type=Path),
    shell_complete=complete_runs,
)
@click.option(
    "--baseline",
    metavar="NAME|RUN",
    help="What the others are compared with: an architecture, or a run. To be named where none of the "
    "runs is of `modified`.  [default: modified]",
)
@click.option("--reference", metavar="R", help="Errors against this one.  [default: the truth]")
@margin_option
@ranks_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Directory of the report.  [default: comparisons/EQUATION]",
)
@click.option("--json", "as_json", is_flag=True, help="JSON, one object a variant.")
@with_registry
def compare(
    registry: Registry,
    runs: tuple[Path, ...],
    baseline: str | None,
    reference: str | None,
    margin: str | None,
    ranks: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare runs of one equation on one test set: tables, figures, tests, and a page to read.

    Runs that differ only in the seed are one variant. A directory of runs, as `pio train --seeds`
    makes it, stands for all of them. DIR/report.html tells it all; an older comparison there is replaced.
    """
    from pio import write_up
    from pio._compare import compare as compared
    from pio._write_up import require_ours

    difference = parse_margin(margin)
    if out is not None:
        require_ours(out)
    found = compared(
        runs,
        baseline,
        reference=reference,
        ranks=ranks,
        margin=difference,
        registry=registry,
    )
    with status("writing the comparison") as say:
        page = write_up(found, out or Path("comparisons") / found.equation.name, say=say)
    if as_json:
        for row in found.as_dicts():
            click.echo(to_json({**row, "report": str(page)}))
    else:
        draw_comparison(found, page)


def draw_comparison(comparison: Comparison, page: Path) -> None:
    """The verdicts, the tables, and where the rest is, on stdout."""
    from rich.text import Text

    from pio._tables import tables
    from pio_cli._screen import draw

    draw(Text(f"{comparison.title}, beside {comparison.baseline.label}", "bold"), "")
    for verdict in comparison.verdicts.values():
        draw(Text.assemble((verdict.kind, f"bold {COLOURS[verdict.kind]}"), f": {verdict.words}"))
    for table in tables(comparison):
        draw("", Text(f"{table.title}. {table.caption}", "italic"), _rich(table))
    if comparison.notes:
        draw("", *(Text(f"Note: {note}") for note in comparison.notes))
    draw("", Text(str(page), "dim"))


def _rich(table: Table) -> Rich:
    """A table as it fits a terminal: with more columns than rows, a row becomes a column."""
    from rich.table import Table as Rich
    from rich.text import Text

    rows = [[column.heading for column in table.columns], *table.cells]
    right = [column.numeric for column in table.columns]
    if len(table.columns) > len(rows):
        rows = [list(row) for row in zip(*rows, strict=True)]
        right = [False, *[True] * len(table.rows)]
    found = Rich(box=None, pad_edge=False)
    for heading, number in zip(rows[0], right, strict=True):
        found.add_column(Text(heading), justify="right" if number else "left")
    for row in rows[1:]:
        found.add_row(*map(Text, row))
    return found
