"""`pio resume`: continue a run from its latest checkpoint."""

from __future__ import annotations

from pathlib import Path

import click

from pio._registry import Registry
from pio_cli._complete import names, runs
from pio_cli._plugins import with_registry
from pio_cli._progress import terminable


@click.command()
@click.argument("run", type=click.Path(path_type=Path), shell_complete=runs)
@click.option(
    "--tracker",
    "trackers",
    metavar="T",
    multiple=True,
    shell_complete=names("tracker"),
    help="Also report to tensorboard, …",
)
@click.option("--json", "as_json", is_flag=True, help="Records on stdout, one JSON object a line.")
@with_registry
@terminable()
def resume(registry: Registry, run: Path, trackers: tuple[str, ...], as_json: bool) -> int:
    """Continue RUN bit for bit as if it had never stopped."""
    from pio._run import load_run
    from pio_cli.train import watch

    return watch(load_run(run, registry), trackers, as_json)
