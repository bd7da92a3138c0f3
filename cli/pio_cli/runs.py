"""`pio runs`: a table of the runs there are."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from pio._access import reading
from pio._config import read_toml
from pio._errors import PioError
from pio._json import to_json
from pio_cli._progress import duration


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--json", "as_json", is_flag=True, help="JSON, one object a line.")
def runs(directory: Path, as_json: bool) -> None:
    """List the runs in DIRECTORY, `runs` unless told, the latest last."""
    with reading(directory):
        if not directory.is_dir():
            raise PioError(f"there is no directory {directory}; `pio train` makes runs/.")
        found = [directory] if (directory / "config.toml").is_file() else _within(directory)
    rows = [_row(path) for path in found]
    if as_json:
        for row in rows:
            click.echo(to_json(row))
    elif rows:
        _draw(rows)
    else:
        click.echo(f"no runs in {directory}.", err=True)


def _within(directory: Path) -> list[Path]:
    found = []
    for path in directory.rglob("config.toml"):
        with contextlib.suppress(OSError):  # one that is gone, or that is not ours to look into
            if path.is_file():
                found.append((path.stat().st_mtime, path.parent))
    return [parent for _, parent in sorted(found)]


def _row(path: Path) -> dict[str, Any]:
    from pio._run import read_status

    row: dict[str, Any] = {"run": str(path)}
    try:
        config = read_toml(path / "config.toml")
        names = {key: config[key]["name"] for key in ("equation", "arch", "weighting", "optimizer")}
        row |= {**names, "preset": config.get("preset"), "seed": config["train"]["seed"]}
        row["steps"] = config["train"]["steps"]
    except (PioError, KeyError, TypeError) as error:
        return {**row, "state": "damaged", "message": str(error)}
    return {**row, **read_status(path)}


def _draw(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    colours = {"done": "green", "running": "cyan", "failed": "red", "damaged": "red"}
    names = (
        "run",
        "equation",
        "arch",
        "preset",
        "seed",
        "state",
        "step",
        "error",
        "median",
        "time",
    )
    table = Table(*names, box=None)
    for row in rows:
        error, median, seconds = (row.get(key) for key in ("error", "median", "seconds"))
        table.add_row(
            Text(row["run"]),
            *(str(row.get(key, "")) for key in ("equation", "arch", "preset", "seed")),
            Text(row["state"], colours.get(row["state"], "yellow")),
            f"{row.get('step', 0)}/{row['steps']}" if "steps" in row else "",
            "" if error is None else f"{error:.2%}",
            "" if median is None else f"{median:.2%}",
            "" if seconds is None else duration(seconds),
        )
    draw(table)
