"""`pio reproduce`: a published table, trained, compared, and set beside what was published."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pio._errors import PioError
from pio._registry import Registry
from pio_cli._compiled import use_compilation_cache
from pio_cli._plugins import with_registry
from pio_cli._progress import duration, terminable
from pio_cli.describe import settings
from pio_cli.train import parse_duration, parse_seeds, watch

if TYPE_CHECKING:
    from pio import Plan, Run, Study


@click.command()
@click.argument("study", required=False, metavar="[STUDY|all]")
@click.option("--archs", metavar="A,B", help="Only these architectures.  [default: the study's]")
@click.option("--seeds", metavar="A:B", default="0:2", show_default=True, help="Seeds of each.")
@click.option(
    "--preset", metavar="P", default="fast", show_default=True, help="paper is as published."
)
@click.option("--time-per-run", metavar="10m", help="As many steps as fit into this time.")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="So many steps a run.")
@click.option("--set", "pairs", metavar="KEY=VALUE", multiple=True, help="Any option, of all runs.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("reproductions"),
    show_default=True,
    help="Directory of directories, one a study.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout, one object a line.")
@click.option("--dry-run", is_flag=True, help="List the runs and the time they take.")
@with_registry
@terminable()
def reproduce(
    registry: Registry,
    study: str | None,
    archs: str | None,
    seeds: str,
    preset: str,
    time_per_run: str | None,
    steps: int | None,
    pairs: tuple[str, ...],
    out: Path,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Train the architectures of a published table, compare them, and set them beside it.

    Without STUDY, list the studies there are. What has ended is passed over and what was interrupted
    is resumed, so the same command continues where it was. A run that fails leaves the others alone.
    """
    from pio import plan, studies

    known = studies(registry)
    if study is None:
        _list(known, as_json)
        return 0
    seconds = None if time_per_run is None else parse_duration(time_per_run, "--time-per-run")
    if seconds is not None and steps is not None:
        raise PioError("give --time-per-run or --steps, not both.")
    names = list(known) if study == "all" else [study]
    plans = [
        plan(
            name,
            archs=None if archs is None else [a.strip() for a in archs.split(",") if a.strip()],
            seeds=parse_seeds(seeds),
            preset=preset,
            seconds=seconds,
            steps=steps,
            settings=settings(pairs, ""),
            out=out,
            registry=registry,
        )
        for name in names
    ]
    use_compilation_cache()
    if dry_run:
        _show(plans, as_json)
        return 0
    worst = 0
    for each in plans:
        code = _carry_out(each, as_json)
        if code == 130:
            click.echo("or continue all of it with the same `pio reproduce` command.", err=True)
            return code
        worst = max(worst, code)
    return worst


def _carry_out(plan: Plan, as_json: bool) -> int:
    from pio import conclude
    from pio import reproduce as carry_out

    def say(text: str) -> None:
        click.echo(text, err=True)

    tasks = list(plan.tasks())
    todo = [task for task in tasks if task.state != "done"]
    say(f"{plan.name}: {len(tasks)} runs, {len(tasks) - len(todo)} of them done before")

    def train(run: Run) -> bool:
        return watch(run, as_json=as_json) == 0

    found = carry_out(plan, train=train, say=say)
    if found.stopped:
        return 130
    lost = {str(path): why for path, why in found.failed.items()}
    if len({run.config.arch.name for run in found.runs}) < 2:
        say(f"{plan.name}: fewer than two architectures have ended, so nothing is compared.")
        if as_json:
            click.echo(json.dumps({"study": plan.name, "failed": lost}))
        return 1 if lost else 0
    say(f"{plan.name}: comparing {len(found.runs)} runs …")
    written = conclude(plan, found.runs)
    for reference, (comparison, page) in written.items():
        if as_json:
            about = {
                "study": plan.name,
                "reference": reference,
                "report": str(page),
                "failed": lost,
            }
            click.echo(json.dumps({**about, "variants": comparison.as_dicts()}))
        else:
            from pio_cli.compare import draw_comparison

            draw_comparison(comparison, page)
    for path, why in lost.items():
        say(f"failed: {path}: {why}")
    return 1 if lost else 0


def _list(known: dict[str, tuple[str, Study]], as_json: bool) -> None:
    if as_json:
        for name, (equation, study) in known.items():
            archs = {arch: row.mean for arch, row in study.published.items()}
            about = {"study": name, "equation": equation, "options": dict(study.options)}
            click.echo(json.dumps({**about, "source": study.source, "published": archs}))
        return
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    table = Table("study", "equation", "architectures, with their published mean errors", box=None)
    for name, (equation, study) in known.items():
        options = " ".join(f"{key}={value}" for key, value in study.options.items())
        means = ", ".join(
            arch if row.mean is None else f"{arch} {row.mean:.2%}"
            for arch, row in study.published.items()
        )
        table.add_row(name, f"{equation} {options}".strip(), means)
    first = next(iter(known), "STUDY")
    hint = f"pio reproduce {first} --time-per-run 3m, or --dry-run to see what that takes"
    draw(table, Text(hint, "dim"))


def _show(plans: Iterable[Plan], as_json: bool) -> None:
    """The runs and what is left to be trained."""
    from rich.table import Table
    from rich.text import Text

    from pio_cli._screen import draw

    table = Table("run", "state", "takes about", box=None)
    total = 0.0
    for plan in plans:
        takes = plan.estimates(lambda text: click.echo(text, err=True))
        for task in plan.tasks():
            seconds = 0.0 if task.state == "done" else takes[task.arch]
            total += seconds
            if as_json:
                about = {"study": plan.name, "arch": task.arch, "seed": task.seed}
                about |= {"run": str(task.path), "state": task.state, "seconds": seconds}
                click.echo(json.dumps(about))
            table.add_row(str(task.path), task.state, duration(seconds) if seconds else "–")
    if not as_json:
        draw(table, Text(f"all in all about {duration(total)}", "bold"))
