"""A reproduction: the runs of a study, trained as far as they are missing, and compared."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from pio._compare import Comparison, compare
from pio._config import PLUGINS, SCHEMA, Config, presets, resolve
from pio._errors import PioError, RunError
from pio._errors_file import read_errors
from pio._files import write, writing
from pio._registry import Registry, discover
from pio._report import report
from pio._run import Run, create_run, load_run, read_status
from pio._session import estimate, follow, ready, within
from pio._study import Study, find_study
from pio._train import Trainer
from pio._write_up import write_up


class Task(NamedTuple):
    """One run of a reproduction, and what has become of it: `missing`, or as its status says."""

    arch: str
    seed: int
    path: Path
    state: str


@dataclass(frozen=True, eq=False)
class Plan:
    """What it takes to reproduce a study: one run for each architecture and seed.

    `seconds` gives each run this time, `steps` this many steps; without either it is the preset's.
    """

    name: str
    registry: Registry
    directory: Path
    archs: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1)
    preset: str = "fast"
    seconds: float | None = None
    steps: int | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @cached_property
    def _found(self) -> tuple[str, Study]:
        return find_study(self.registry, self.name)

    @property
    def equation(self) -> str:
        return self._found[0]

    @property
    def study(self) -> Study:
        return self._found[1]

    def config(self, arch: str, preset: str | None = None) -> Config:
        """What a run of an architecture is, but for its seed, and its steps if a time decides them."""
        own = preset is None or preset == self.preset
        flags = {f"equation.{key}": value for key, value in self.study.options.items()}
        flags |= {
            "equation.name": self.equation,
            "arch.name": arch,
            "preset": preset or self.preset,
        }
        flags |= {"train.steps": self.steps} if own else {}
        settings = {k: v for k, v in self.settings.items() if own or k.startswith("equation.")}
        return resolve(self.registry, settings=settings, flags=flags)

    def tasks(self) -> Iterator[Task]:
        """The runs there are to be, and how far each is."""
        for arch in self.archs:
            for seed in self.seeds:
                path = self.directory / "runs" / f"{arch}-{seed}"
                begun = (path / "config.toml").exists()
                yield Task(arch, seed, path, read_status(path)["state"] if begun else "missing")

    def estimates(self, say: Callable[[str], None] = lambda text: None) -> dict[str, float]:
        """The seconds that a run of each architecture takes; timed, unless a time is given."""
        if self.seconds is not None:
            return dict.fromkeys(self.archs, self.seconds)
        found = {}
        for arch in self.archs:
            say(f"timing {self.name} {arch} …")
            config = self.config(arch)
            cost = estimate(Trainer.of(config, self.registry), 1.0)
            found[arch] = cost.seconds(config.train.steps)
        return found

    @property
    def scaled(self) -> tuple[str, ...]:
        """Each way in which this differs from the published setting: `steps 6000 (published: 120000)`."""
        config = self.config(self.archs[0])
        if "paper" not in presets(self.registry.make("equation", *config.equation)):
            return ()
        ours, theirs = (_flat(self.config(self.archs[0], p).as_dict()) for p in (None, "paper"))
        if self.seconds is not None:
            ours["steps"] = f"as many as fit into {self.seconds:g} s"
        return tuple(
            f"{key} {ours[key]} (published: {theirs[key]})"
            for key in ours
            if key in theirs and ours[key] != theirs[key]
        )

    # ------------------------------------------------------------------------------------------
    # What is kept beside the runs: that a second call asks for the same, and the steps a time became

    @property
    def _asked(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "preset": self.preset,
            "seconds": self.seconds,
            "steps": self.steps,
            "settings": {key: str(value) for key, value in self.settings.items()},
        }

    def _kept(self) -> dict[str, Any]:
        path = self.directory / "plan.json"
        if not path.exists():
            return {"schema": SCHEMA, **self._asked, "timed": {}}
        try:
            kept = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise PioError(f"{path} cannot be read: {error}; choose another --out.") from error
        for key, value in self._asked.items():
            if kept.get(key) != value:
                raise PioError(
                    f"{self.directory} was begun with {key} {kept.get(key)} and is now asked for "
                    f"{key} {value}; repeat the first command, or choose another --out."
                )
        return kept

    def check(self) -> None:
        """Refuse, before anything is begun, what cannot be done."""
        for arch in self.archs:
            ready(self.config(arch), self.registry)
        self._kept()

    def _timed(self, arch: str, say: Callable[[str], None]) -> Config:
        """The config of an architecture, with the steps that fit its time, found once for all seeds."""
        config = self.config(arch)
        if self.seconds is None:
            return config
        kept = self._kept()
        if arch not in kept["timed"]:
            say(f"timing {arch}, to fill {self.seconds:g} s …")
            kept["timed"][arch] = within(config, self.registry, self.seconds).train.steps
            write(self.directory / "plan.json", json.dumps(kept, indent=2) + "\n")
        train = dataclasses.replace(config.train, steps=kept["timed"][arch])
        return dataclasses.replace(config, train=train)


def plan(
    name: str,
    *,
    archs: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1),
    preset: str = "fast",
    seconds: float | None = None,
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | PathLike[str] = "reproductions",
    registry: Registry | None = None,
) -> Plan:
    """The runs of a study, all of its architectures unless some are named; nothing is begun."""
    registry = discover() if registry is None else registry
    _, study = find_study(registry, name)
    if seconds is not None and steps is not None:
        raise PioError("give each run a time or a number of steps, not both.")
    chosen = tuple(dict.fromkeys(study.published if archs is None else archs))
    if not chosen or not seeds:
        raise PioError("a reproduction needs an architecture and a seed at least.")
    found = Plan(
        name,
        registry,
        Path(out) / name,
        chosen,
        tuple(dict.fromkeys(seeds)),
        preset,
        seconds,
        steps,
        dict(settings or {}),
    )
    found.check()
    return found


class Reproduction(NamedTuple):
    """What came of a plan: the runs that ended, those that failed and why, and whether it was stopped."""

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
) -> Reproduction:
    """Train what is missing, resume what was interrupted, and pass over what has ended.

    `train` takes a run to its end and says whether it got there. A run that fails is reported and
    leaves the others alone.
    """
    with writing(plan.directory, begun=False):
        plan.directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(plan.directory / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise PioError(f"{plan.directory} is being made by another process.") from None
    ended: list[Run] = []
    failed: dict[Path, str] = {}
    trainers: dict[str, Trainer] = {}
    try:
        with writing(plan.directory, begun=False):
            write(plan.directory / "plan.json", json.dumps(plan._kept(), indent=2) + "\n")
        for task in plan.tasks():
            try:
                run = _open(plan, task, trainers, say)
                if task.state != "done" and not train(run):
                    return Reproduction(tuple(ended), failed, stopped=True)
                _measure(run, plan.study.reference)
                ended.append(run)
            except Exception as error:  # whatever a plugin raises: the other runs may still be well
                failed[task.path] = str(error) or type(error).__name__
                say(f"{task.path} failed: {failed[task.path]}")
    finally:
        lock.release()
    return Reproduction(tuple(ended), failed)


def conclude(
    plan: Plan, runs: Sequence[Run], say: Callable[[str], None] = lambda text: None
) -> dict[str, tuple[Comparison, Path]]:
    """Compare runs of a plan and write that up, by reference: the published one first, then the truth.

    Published numbers stand beside ours only where both were measured against the same.
    """
    study = plan.study
    truth = next(iter(plan.registry.make("equation", plan.equation, study.options).references))
    archs = list(dict.fromkeys(run.config.arch.name for run in runs))
    baseline = study.baseline if study.baseline in archs else archs[0]
    found = {}
    for reference in dict.fromkeys([study.reference or truth, truth]):
        same = reference == (study.reference or truth)
        comparison = compare(
            runs,
            baseline,
            reference=reference,
            published=study.published if same else None,
            source=study.source if same else "",
            notes=_notes(plan, archs, baseline, reference, same),
            registry=plan.registry,
        )
        out = plan.directory / f"against-{reference}"
        found[reference] = (comparison, write_up(comparison, out, say=say))
    return found


def _notes(
    plan: Plan, archs: Sequence[str], baseline: str, reference: str, same: bool
) -> list[str]:
    scaled = plan.scaled
    setting = (
        f"Scaled down: this is the preset {plan.preset!r}, not the published setting. It has {'; '.join(scaled)}."
        if scaled
        else "This is the published setting."
    )
    beside = (
        f"Published numbers are those of {plan.study.source}, from another machine."
        if same
        else f"Errors against {reference!r} were not published, so none stand beside these."
    )
    notes = [setting, beside]
    if lacking := [arch for arch in plan.study.published if arch not in archs]:
        notes.append(f"Not here, but in the published table: {', '.join(lacking)}.")
    if baseline != plan.study.baseline:
        notes.append(
            f"{baseline} is the baseline here; the published one is {plan.study.baseline}."
        )
    return notes


def _open(plan: Plan, task: Task, trainers: dict[str, Trainer], say: Callable[[str], None]) -> Run:
    """The run of a task, made if it is missing. One compiled program serves all seeds of an architecture."""
    if task.state == "done":
        return load_run(task.path, plan.registry)
    if task.arch not in trainers:
        trainers.clear()  # the last one's program and functions are not needed any more
        trainers[task.arch] = ready(plan._timed(task.arch, say), plan.registry)
    trainer = trainers[task.arch] = trainers[task.arch].reseeded(task.seed)
    if task.state == "missing":
        run = create_run(trainer.config, plan.registry, task.path)
    else:
        run = load_run(task.path, plan.registry)
        if run.config != trainer.config:
            raise RunError(f"{task.path} is no run of this plan; move it away.")
    vars(run)["trainer"] = trainer
    return run


def _measure(run: Run, reference: str | None) -> None:
    """See that errors against the published reference are there too."""
    if reference is not None and reference not in read_errors(run.path).errors:
        report(run, figures=False)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a config that a reader would ask for, by name. Of most plugins, the name is enough."""
    found = {key: value for key, value in config["train"].items() if key not in _ASIDE}
    for section in PLUGINS:
        if section == "equation":
            found |= {f"equation.{key}": value for key, value in config[section].items()}
        elif section == "arch":
            sizes = {k: v for k, v in config[section].items() if k in ("width", "depth")}
            found |= {f"network {key}": value for key, value in sizes.items()}
        else:
            found[section] = config[section]["name"]
    sampling = config["sampling"]
    points = ("batch", "residual", "functions", "points")
    found["batches of"] = f"{sampling['kind']} " + ", ".join(
        f"{key} {_plainly(sampling[key])}" for key in points if key in sampling
    )
    return found


# Settings of `[train]` that are no part of a recipe.
_ASIDE = ("seed", "evaluations", "rows", "init_from")


def _plainly(value: Any) -> str:
    return " × ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)
