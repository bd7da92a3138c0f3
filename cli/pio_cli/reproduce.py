"""`pio reproduce`: a published table, trained, compared, and set beside what was published."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pio._errors import PioError
from pio._json import to_json
from pio._registry import Registry
from pio_cli._compiled import use_compilation_cache
from pio_cli._plugins import with_registry
from pio_cli._progress import asked, duration, terminable
from pio_cli._seeds import parse_seeds
from pio_cli.compare import draw_comparison, margin_option, parse_margin, ranks_option
from pio_cli.describe import settings
from pio_cli.train import parse_duration, watch

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
@margin_option
@ranks_option
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
    margin: str | None,
    ranks: str,
    out: Path,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Train the architectures of a published table, compare them, and set them beside it.

    Without STUDY, list the studies there are. What has ended is passed over and what was interrupted
    is resumed, so the same command continues where it was. A run that fails leaves the others alone.
    The report is on all runs of the study that have ended, those of earlier commands too.
    """
    from pio import plan, studies

    known = studies(registry)
    if study is None:
        _list(known, as_json)
        return 0
    seconds = None if time_per_run is None else parse_duration(time_per_run, "--time-per-run")
    if seconds is not None and steps is not None:
        raise PioError("give --time-per-run or --steps, not both.")
    tests = {"ranks": ranks, "margin": parse_margin(margin)}
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
        try:
            code = _carry_out(each, as_json, tests)
        except PioError as error:
            if len(plans) == 1:
                raise
            click.echo(f"{each.name}: {error}", err=True)  # the other studies may still be well
            code = 1
        if code == 130:
            click.echo("continue all of it with the same `pio reproduce` command.", err=True)
            return code
        worst = max(worst, code)
    return worst


def _carry_out(plan: Plan, as_json: bool, tests: dict[str, Any]) -> int:
    from pio import conclude
    from pio import reproduce as carry_out

    def say(text: str) -> None:
        click.echo(text, err=True)

    def train(run: Run) -> bool:
        return watch(run, as_json=as_json) == 0

    with plan.locked():
        tasks = list(plan.tasks())
        done = sum(task.state == "done" for task in tasks)
        say(f"{plan.name}: {len(tasks)} runs, {done} of them done before")
        found = carry_out(plan, train=train, say=say, stop=asked)
        if found.stopped:
            return 130
        lost = {str(path): why for path, why in found.failed.items()}
        about: dict[str, Any] = {"study": plan.name, "failed": lost}
        if len({run.config.arch.name for run in found.runs}) < 2:
            say(f"{plan.name}: fewer than two architectures have ended, so nothing is compared.")
            if as_json:
                click.echo(to_json(about))
            return 1 if lost else 0
        say(f"{plan.name}: comparing {len(found.runs)} runs …")
        try:
            written = conclude(plan, found.runs, failed=found.failed, **tests)
        except PioError as error:
            say(f"{plan.name} cannot be compared: {error}")
            if as_json:
                click.echo(to_json({**about, "error": str(error)}))
            return 1
    for reference, (comparison, page) in written.items():
        if as_json:
            told = {**about, "reference": reference, "report": str(page)}
            click.echo(to_json({**told, "variants": comparison.as_dicts()}))
        else:
            draw_comparison(comparison, page)
    for path, why in lost.items():
        say(f"failed: {path}: {why}")
    return 1 if lost else 0


def _list(known: dict[str, tuple[str, Study]], as_json: bool) -> None:
    if as_json:
        for name, (equation, study) in known.items():
            archs = {arch: row.mean for arch, row in study.published.items()}
            about = {"study": name, "equation": equation, "options": dict(study.options)}
            click.echo(to_json({**about, "source": study.source, "published": archs}))
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
            seconds = task.left * takes[task.arch]
            total += seconds
            if as_json:
                about = {"study": plan.name, "arch": task.arch, "seed": task.seed}
                about |= {"run": str(task.path), "state": task.state, "seconds": seconds}
                click.echo(to_json(about))
            table.add_row(str(task.path), task.state, duration(seconds) if seconds else "–")
    if not as_json:
        draw(table, Text(f"all in all about {duration(total)}", "bold"))
