"""A reproduction: the runs of a plan, trained as far as they are missing, and compared."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pio._compare import Comparison, compare
from pio._config import Config
from pio._departures import Departures
from pio._errors import PioError, RunError
from pio._errors_file import ErrorsFile, read_errors
from pio._plan import Plan, Task
from pio._report import report
from pio._run import Run, create_run, load_run, read_status
from pio._session import follow, ready
from pio._train import Trainer
from pio._write_up import write_up


class Reproduction(NamedTuple):
    """What came of a plan: the runs that ended, those that failed and why, and whether it was stopped.

    Runs that ended in earlier calls, of other architectures and seeds, are among them.
    """

    runs: tuple[Run, ...]
    failed: Mapping[Path, str]
    stopped: bool = False


def _quietly(run: Run) -> bool:
    for _ in follow(run):
        pass
    return True


def reproduce(
    plan: Plan,
    *,
    train: Callable[[Run], bool] = _quietly,
    say: Callable[[str], None] = lambda text: None,
    stop: Callable[[], bool] = lambda: False,
) -> Reproduction:
    """Train what is missing, resume what was interrupted, and pass over what has ended.

    `train` takes a run to its end and says whether it got there. A run that fails is reported and
    leaves the others alone. `stop` is asked before each run and while steps are timed.
    """
    ended: list[Run] = []
    failed: dict[Path, str] = {}
    trainers: dict[str, Trainer] = {}
    with plan.locked():
        plan.begin()
        tasks = list(plan.tasks())
        for task in tasks:
            if stop():
                return Reproduction(tuple(ended), failed, stopped=True)
            try:
                run = _open(plan, task, trainers, say, stop)
                if task.state != "done" and (stop() or not train(run)):
                    return Reproduction(tuple(ended), failed, stopped=True)
                _measure(plan, run, say)
                ended.append(run)
            except Exception as error:  # whatever a plugin raises: the other runs may still be well
                failed[task.path] = str(error) or type(error).__name__
                say(f"{task.path} failed: {failed[task.path]}")
        for run in _earlier(plan, {task.path for task in tasks}):
            try:
                _measure(plan, run, say)
                ended.append(run)
            except Exception as error:
                failed[run.path] = str(error) or type(error).__name__
                say(f"{run.path} failed: {failed[run.path]}")
    return Reproduction(tuple(_in_order(plan, ended)), failed)


def _earlier(plan: Plan, known: Collection[Path]) -> Iterator[Run]:
    """Runs that ended in earlier calls and are of this plan, but for the architecture and the seed."""
    for path in sorted(p.parent for p in (plan.directory / "runs").glob("*/config.toml")):
        if path in known or read_status(path)["state"] != "done":
            continue
        # A plugin that is not given this time, or a preset that has changed since: not one of these.
        with contextlib.suppress(PioError):
            run = load_run(path, plan.registry)
            config = plan.timed(run.config.arch.name)
            if config is not None and run.config == _reseeded(config, run.config.train.seed):
                yield run


def _reseeded(config: Config, seed: int) -> Config:
    return dataclasses.replace(config, train=dataclasses.replace(config.train, seed=seed))


def _in_order(plan: Plan, runs: Iterable[Run]) -> list[Run]:
    """The architectures as they were asked for, then as they are in the table, each by seed."""
    order = list(dict.fromkeys([*plan.archs, *plan.study.published]))

    def place(run: Run) -> tuple[int, str, int]:
        arch = run.config.arch.name
        return order.index(arch) if arch in order else len(order), arch, run.config.train.seed

    return sorted(runs, key=place)


def conclude(
    plan: Plan,
    runs: Sequence[Run],
    say: Callable[[str], None] = lambda text: None,
    *,
    failed: Mapping[Path, str] | None = None,
    ranks: str = "textbook",
    margin: float | None = None,
) -> dict[str, tuple[Comparison, Path]]:
    """Compare runs of a plan and write that up, by reference: the published one first, then the truth.

    Published numbers stand beside ours only where both were measured against the same, and what
    was published beside a baseline only where ours is that one. Runs that `failed` are named.
    """
    study = plan.study
    archs = list(dict.fromkeys(run.config.arch.name for run in runs))
    baseline = study.baseline if study.baseline in archs else (*archs, study.baseline)[0]
    published = {
        arch: row if baseline == study.baseline else row.alone
        for arch, row in study.published.items()
    }
    found = {}
    with plan.locked():
        for reference in plan.references:
            same = reference == plan.references[0]
            comparison = compare(
                runs,
                baseline,
                reference=reference,
                ranks=ranks,
                margin=margin,
                published=published if same else None,
                source=study.source if same else "",
                notes=[
                    *_notes(plan, archs, baseline, reference, same),
                    *_failures(plan, failed or {}),
                ],
                registry=plan.registry,
            )
            out = plan.directory / f"against-{reference}"
            found[reference] = (comparison, write_up(comparison, out, say=say))
    return found


def _notes(
    plan: Plan, archs: Sequence[str], baseline: str, reference: str, same: bool
) -> Iterator[str]:
    departures = plan.departures(archs)
    yield _setting(plan, departures)
    if same:
        yield f"Published numbers are those of {plan.study.source}, from another machine."
        if departures is not None and departures.other_problem:
            yield "They are of another problem: the equation has other options here."
    else:
        yield f"Errors against {reference!r} were not published, so none stand beside these."
    if lacking := [arch for arch in plan.study.published if arch not in archs]:
        yield f"Not here, but in the published table: {', '.join(lacking)}."
    if baseline != plan.study.baseline:
        yield (
            f"{baseline} is the baseline here; the published one is {plan.study.baseline}. What was published "
            "beside that one is left out."
        )


def _setting(plan: Plan, departures: Departures | None) -> str:
    if departures is None:
        return "The published setting is not known to pio, so what differs is not listed."
    if not departures.each:
        return "This is the published setting."
    listed = "; ".join(departures.each)
    if not departures.smaller:
        return f"Differs from the published setting: {listed}."
    preset = "" if plan.preset == "paper" else f", this is the preset {plan.preset!r}"
    return f"Scaled down from the published setting{preset}: {listed}."


def _failures(plan: Plan, failed: Mapping[Path, str]) -> Iterator[str]:
    if failed:
        each = "; ".join(f"{path.name} ({why.strip().rstrip('.')})" for path, why in failed.items())
        yield f"Failed, and so left out: {each}."


def _open(
    plan: Plan,
    task: Task,
    trainers: dict[str, Trainer],
    say: Callable[[str], None],
    stop: Callable[[], bool],
) -> Run:
    """The run of a task, made if it is missing. One compiled program serves all seeds of an architecture."""
    if task.state == "done":
        return load_run(task.path, plan.registry)
    if task.arch not in trainers:
        trainers.clear()  # the last one's program and functions are not needed any more
        trainers[task.arch] = ready(plan.settle(task.arch, say, stop), plan.registry)
    trainer = trainers[task.arch] = trainers[task.arch].reseeded(task.seed)
    if task.state == "missing":
        run = create_run(trainer.config, plan.registry, task.path)
    else:
        run = load_run(task.path, plan.registry)
        if run.config != trainer.config:
            raise RunError(f"{task.path} is no run of this plan; move it away.")
    vars(run)["trainer"] = trainer
    return run


def _measure(plan: Plan, run: Run, say: Callable[[str], None]) -> None:
    """See that errors are there, on the functions of the others, against all that is compared with."""
    kept = None
    with contextlib.suppress(PioError):  # missing or damaged, which another measurement mends
        kept = read_errors(run.path)
    if kept is None or not _serves(plan, kept):
        say(f"measuring {run.path} …")
        report(run, figures=False)
        kept = read_errors(run.path)
    for reference in plan.references:
        errors = kept.errors[reference]
        if bad := int((~np.isfinite(errors)).sum()):
            raise RunError(
                f"its error is no finite number on {bad} of {len(errors)} test functions; move it away, "
                "and it is trained again."
            )


def _serves(plan: Plan, kept: ErrorsFile) -> bool:
    known = plan.problem.references
    return kept.fingerprint == plan.fingerprint and all(
        name in kept.errors and kept.versions.get(name) == known[name].version
        for name in plan.references
    )
