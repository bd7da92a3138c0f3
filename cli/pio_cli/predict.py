"""`pio predict`: solutions for one's own input functions."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pio._errors import PioError
from pio._json import to_json
from pio._registry import Registry
from pio_cli._complete import runs
from pio_cli._plugins import with_registry
from pio_cli._screen import status

if TYPE_CHECKING:
    import numpy as np

    from pio import Light

VALUES = 2**28
"""How many values of s one file gets at most: 2 GB of them."""

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=runs)
@click.option(
    "--input",
    "source",
    type=FILE,
    required=True,
    metavar="u.npy|csv",
    help="Values of u, one row a function.",
)
@click.option(
    "--places",
    type=FILE,
    metavar="x.npy|csv",
    help="Where u was measured.  [default: the equation's sensors]",
)
@click.option(
    "--grid",
    "pairs",
    multiple=True,
    metavar="NAME=VALUES",
    help="Where s is wanted: t=0.5,1 or x=0:1:201 (from, to, how many). May be given several times.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="s.npz",
    help="Where to put s, its coordinates, u and the residuals.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON, one object a function.")
@with_registry
def predict(
    registry: Registry,
    run: Path,
    source: Path,
    places: Path | None,
    pairs: tuple[str, ...],
    output: Path,
    as_json: bool,
) -> None:
    """Predict s for the functions u in a file, with what RUN has learned.

    A CSV file has one function a line, with commas or blanks between values; a single column is one
    function. The file written has `s` (any other name an unknown has), aligned as (function, x, t),
    with `x`, `t` and `u` beside it.

    A warning light comes with each prediction: its PDE residual, as a multiple of what is usual for
    functions like those of training. It warns when that is larger than for any of these.
    """
    if output.suffix != ".npz":
        raise PioError(f"predictions are written as .npz (got {output}).")
    values, at = _read(source), None if places is None else _read(places).ravel()
    from pio import light, load_run, measured
    from pio import predict as predicted
    from pio._solve import check_range

    loaded = load_run(run, registry)
    u = measured(loaded.equation, values, at)
    check_range(u, loaded.config.train.precision)
    points = {**loaded.equation.grid, **_grid(pairs, loaded.equation.domain.names)}
    values_of_s = len(u) * math.prod(len(p) for p in points.values())
    if values_of_s > VALUES:
        raise PioError(
            f"s would have {values_of_s:.2g} values, {len(u)} functions × "
            f"{' × '.join(str(len(p)) for p in points.values())} points; ask for {VALUES} at most, with "
            "a coarser --grid, or some functions at a time."
        )
    with status(f"{loaded.config.equation.name}, {len(u)} functions") as say:
        say("s")
        s = predicted(loaded.model, loaded.params, u, points)
        say("residuals")
        lamp = light(loaded.model, loaded.params, u)
    _write(output, {**points, **s, "u": u, "residual": lamp.residual, "usual": lamp.usual})
    if as_json:
        for k, row in enumerate(_rows(lamp)):
            click.echo(to_json({"function": k, **row}))
    else:
        shape = "×".join(str(n) for n in next(iter(s.values())).shape)
        _draw(output, shape, lamp)
    if (count := int(lamp.warns.sum())) > 0:
        click.echo(
            f"Warning: {count} of {len(u)} predictions obey the equation worse than any of "
            f"{len(lamp.usual)} functions drawn as in training; these u lie outside of what was "
            "learned.",
            err=True,
        )


def _read(path: Path) -> np.ndarray:
    """An array of numbers, from either kind of file. Nothing is ever unpickled."""
    import numpy as np

    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        # What Excel writes begins with a mark of its encoding.
        text = path.read_text(encoding="utf-8-sig").replace(",", " ").replace(";", " ")
        return np.atleast_1d(np.squeeze(np.array(_table(text), float)))
    except (OSError, ValueError, EOFError) as error:
        kind = "a .npy file" if path.suffix == ".npy" else "numbers, one row a function"
        raise PioError(f"cannot read {path} as {kind}: {error}.") from error


def _table(text: str) -> list[list[float]]:
    """Rows of equally many numbers. Raises `ValueError` that says in which line they are not."""
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        try:
            row = [float(word) for word in words]
        except ValueError as error:
            hint = "" if rows else ", which may be a header: remove that line"
            raise ValueError(f"line {number} has what is no number{hint} ({error})") from None
        if rows and row and len(row) != len(rows[0]):
            raise ValueError(
                f"line {number} has {len(row)} numbers, and those before it {len(rows[0])}"
            )
        rows += [row] if row else []
    if not rows:
        raise ValueError("it is empty")
    return rows


def _grid(pairs: tuple[str, ...], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    import numpy as np

    found = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in names:
            raise PioError(
                f"--grid takes NAME=VALUES, with a name among {', '.join(names)} (got {pair!r})."
            )
        try:
            if ":" in text:
                *ends, count = text.split(":")
                low, high = map(float, ends)
                if int(count) > VALUES:
                    raise PioError(f"--grid {name}= has {VALUES} points at most (got {count}).")
                if not math.isfinite(high - low) or int(count) < 1:
                    raise ValueError
                found[name] = np.linspace(low, high, int(count))
            else:
                found[name] = np.array([float(value) for value in text.split(",")])
        except ValueError:
            raise PioError(
                f"--grid {name}= takes values, 0.5,1, or a range with the number of its points, "
                f"0:1:201 (got {text!r})."
            ) from None
    return found


def _write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    import numpy as np

    from pio._access import unwritable
    from pio._files import write

    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, file.getvalue())
    except OSError as error:
        raise unwritable(path, error) from error


def _rows(lamp: Light) -> list[dict[str, Any]]:
    columns = zip(lamp.residual, lamp.ratio, lamp.rank, lamp.warns, strict=True)
    return [
        {"residual": float(r), "ratio": float(ratio), "rank": float(rank), "warning": bool(warns)}
        for r, ratio, rank, warns in columns
    ]


def _draw(output: Path, shape: str, lamp: Light, most: int = 20) -> None:
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    table = Table("function", "residual", "× usual", "larger than", "", box=None)
    for column in table.columns[:4]:
        column.justify = "right"
    for k, row in enumerate(_rows(lamp)[:most]):
        mark = Text("unusual", "bold red") if row["warning"] else Text("as usual", "green")
        numbers = (f"{row['residual']:.2e}", f"{row['ratio']:.2f}", f"{row['rank']:.0%}")
        table.add_row(str(k), *numbers, mark)
    left = len(lamp.residual) - most
    draw(
        Text(f"{output}: {shape}", "bold"),
        table,
        *([Text(f"… and {left} more, in the file", "dim")] if left > 0 else []),
    )
