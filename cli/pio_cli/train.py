"""`pio train`: learn the solution operator of an equation."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pio._errors import PioError, RunError
from pio._json import to_json
from pio._registry import Registry
from pio_cli._compiled import use_compilation_cache
from pio_cli._complete import names, presets, runs
from pio_cli._plugins import with_registry
from pio_cli._progress import Display, duration, interruptible, terminable
from pio_cli._seeds import parse_seeds
from pio_cli._stdout import Audience
from pio_cli.describe import settings

if TYPE_CHECKING:
    from pio import Config, Run


def parse_duration(text: str, option: str = "--time") -> float:
    """Seconds: `90`, `90s`, `10m`, `1h30m`."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0}
    found = re.fullmatch(
        r"(?:([\d.]+)h)?(?:([\d.]+)m(?:in)?)?(?:([\d.]+)s?)?", text.strip().lower()
    )
    try:
        parts = found.groups() if found else ()
        seconds = sum(float(p) * units[u] for p, u in zip(parts, "hms", strict=False) if p)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise PioError(f"{option} is a duration such as 90s, 10m or 1h30m (got {text!r}).")
    return seconds


@click.command()
@click.option(
    "--equation",
    metavar="E",
    shell_complete=names("equation"),
    help="The equation, one of `pio plugins`.",
)
@click.option("--arch", metavar="A", shell_complete=names("architecture"), help="The architecture.")
@click.option(
    "--preset", metavar="P", shell_complete=presets, help="fast, paper or smoke.  [default: fast]"
)
@click.option(
    "--weighting",
    metavar="W",
    shell_complete=names("weighting"),
    help="How residuals are weighted.",
)
@click.option(
    "--embedding",
    metavar="M",
    shell_complete=names("embedding"),
    help="What stands in for coordinates.",
)
@click.option(
    "--optimizer",
    metavar="O",
    shell_complete=names("optimizer"),
    help="How gradients become steps.",
)
@click.option("--seed", type=int, metavar="N", help="Seed of parameters, functions and points.")
@click.option("--seeds", metavar="A:B", help="Seeds A to B-1, one run each after another.")
@click.option("--steps", type=int, metavar="N", help="How many steps.")
@click.option("--time", "time_", metavar="10m", help="As many steps as fit into this time.")
@click.option("--precision", type=click.Choice(["32", "64"]), help="Bits of a number.")
@click.option(
    "--set", "pairs", metavar="KEY=VALUE", multiple=True, help="Any option: arch.width=64."
)
@click.option("--config", type=click.Path(path_type=Path), help="A config, as a run's config.toml.")
@click.option(
    "--init-from",
    type=click.Path(path_type=Path),
    shell_complete=runs,
    help="Begin with this run's parameters.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Measurements of s, to be met as well.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory of the run.")
@click.option(
    "--tracker",
    "trackers",
    metavar="T",
    multiple=True,
    shell_complete=names("tracker"),
    help="Also report to tensorboard, …",
)
@click.option("--json", "as_json", is_flag=True, help="Records on stdout, one JSON object a line.")
@click.option("--dry-run", is_flag=True, help="Show the config and what the run would cost.")
@with_registry
@terminable()
def train(
    registry: Registry,
    equation: str | None,
    arch: str | None,
    preset: str | None,
    weighting: str | None,
    embedding: str | None,
    optimizer: str | None,
    seed: int | None,
    seeds: str | None,
    steps: int | None,
    time_: str | None,
    precision: str | None,
    pairs: tuple[str, ...],
    config: Path | None,
    init_from: Path | None,
    data: Path | None,
    out: Path | None,
    trackers: tuple[str, ...],
    as_json: bool,
    dry_run: bool,
) -> int:
    """Train a network to solve an equation for any input function.

    What is not told comes from the equation's preset. A flag goes before --set, --set before the
    config file, and that before the preset.
    """
    from pio._config import resolve
    from pio._run import create_run, require_vacant
    from pio._session import ready, within

    if steps is not None and time_ is not None:
        raise PioError("give --steps or --time, not both.")
    if seed is not None and seeds is not None:
        raise PioError("give --seed or --seeds, not both.")
    chosen = None if seeds is None else parse_seeds(seeds)
    flags = {
        "equation.name": equation,
        "arch.name": arch,
        "preset": preset,
        "weighting.name": weighting,
        "embedding.name": embedding,
        "optimizer.name": optimizer,
        "train.seed": seed,
        "train.steps": steps,
        "train.precision": precision,
        "train.init_from": None if init_from is None else str(init_from),
        "data.file": None if data is None else str(data),
    }
    seconds = None if time_ is None else parse_duration(time_)
    resolved = resolve(registry, config=config, settings=settings(pairs, ""), flags=flags)
    for name in trackers:
        registry.make("tracker", name)  # complains of a missing extra before anything is begun
    if out is not None and not dry_run:
        for target in [out] if chosen is None else [out / str(number) for number in chosen]:
            require_vacant(target)
    trainer = ready(resolved, registry)
    use_compilation_cache()
    if seconds is not None:
        click.echo(f"timing some steps, to fill {duration(seconds)} …", err=True)
        resolved = within(resolved, registry, seconds)
        trainer = ready(resolved, registry)
        click.echo(f"{resolved.train.steps} steps", err=True)
    if dry_run:
        _show(resolved, registry, as_json)
        return 0
    for number in chosen or [resolved.train.seed]:
        trainer = trainer.reseeded(number)
        where = out if out is None or chosen is None else out / str(number)
        run = create_run(trainer.config, registry, where)
        vars(run)["trainer"] = trainer  # one program serves all seeds
        code = watch(run, trackers, as_json)
        if code:
            return code
    return 0


def watch(run: Run, trackers: tuple[str, ...] = (), as_json: bool = False) -> int:
    """Train a run and show it; the exit code."""
    from pio._session import follow

    use_compilation_cache()
    config = run.config
    title = f"{config.equation.name} {config.arch.name}"
    audience = Audience()
    made = [run.registry.make("tracker", name) for name in trackers]
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(Display(title, config.train.steps))
        say, log = audience.notes(display.say), audience.notes(display.log)
        asked = stack.enter_context(interruptible(say))
        say(f"run {run.path}")
        report = Reports(dict(zip(trackers, made, strict=True)), say)
        report("start", run.path, config.as_dict())
        stack.callback(report, "finish")

        def stop() -> bool:
            return asked() or audience.gone is not None

        for record in follow(run, stop=stop, say=say, tick=audience.notes(display.tick)):
            log(record)
            report("log", record.as_dict())
            if as_json:
                audience.result(to_json(record.as_dict()))
    return _conclude(run, audience, as_json)


class Reports:
    """Trackers, of which one that fails is left out from then on: training goes on without it."""

    def __init__(self, trackers: dict[str, Any], say: Callable[[str], None]) -> None:
        self.trackers, self.say = trackers, say

    def __call__(self, what: str, *given: Any) -> None:
        for name, tracker in list(self.trackers.items()):
            try:
                getattr(tracker, what)(*given)
            except Exception as error:
                self.say(
                    f"tracker {name!r} failed and is left out: {type(error).__name__}: {error}"
                )
                del self.trackers[name]


def _conclude(run: Run, audience: Audience, as_json: bool) -> int:
    status = run.status
    if as_json:
        audience.result(to_json({"run": str(run.path), **status}))
    elif status["state"] == "done":
        error, median = status.get("error"), status.get("median")
        measured = f"test error {error:.3%} (median {median:.3%}), " if error is not None else ""
        audience.result(f"{run.path}: {measured}{duration(status['seconds'])} of training")
    stopped = status["state"] == "interrupted"
    if stopped:
        step = f"stopped at step {status['step']} of {status['steps']}"
        text = f"{step}; continue with `pio resume {run.path}`."
        audience.notes(click.echo)(text, err=True)
    if audience.gone is not None and not isinstance(audience.gone, BrokenPipeError):
        raise RunError(f"cannot write to stdout: {audience.gone.strerror or audience.gone}.")
    return 130 if stopped else 0


def _show(config: Config, registry: Registry, as_json: bool) -> None:
    """The config, which is a valid --config, with what it costs in comments."""
    from pio._session import estimate
    from pio._train import Trainer

    cost = estimate(Trainer.of(config, registry))
    seconds = cost.seconds(config.train.steps)
    if as_json:
        about = {**cost._asdict(), "seconds": seconds, "config": config.as_dict()}
        click.echo(to_json(about))
        return
    memory = "unknown" if cost.bytes is None else f"{cost.bytes / 1e6:.3g} MB"
    rows = {
        "parameters": f"{cost.parameters:,}",
        "points a step": f"{cost.points:,}",
        "memory of a step": memory,
        "to compile": duration(cost.compile_seconds),
        "a step": duration(cost.step_seconds),
        "all steps": duration(config.train.steps * cost.step_seconds),
        "evaluations": f"{cost.evaluations} × {duration(cost.evaluation_seconds)}",
        "all in all": duration(seconds),
    }
    click.echo(config.toml())
    for name, value in rows.items():
        click.echo(f"# {name:<18}{value}")
