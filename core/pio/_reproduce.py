"""A reproduction: the runs of a study, trained as far as they are missing, and compared."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock, Timeout

from pio._compare import Comparison, compare
from pio._config import PLUGINS, SCHEMA, Config, presets, resolve
from pio._departures import Departures, departures
from pio._equation import Equation
from pio._errors import PioError, RunError
from pio._errors_file import ErrorsFile, fingerprint, read_errors
from pio._files import write, writing
from pio._registry import Registry, discover
from pio._report import report
from pio._run import Run, create_run, load_run, read_status
from pio._session import estimate, filling, follow, ready
from pio._solutions import inputs_of_testset
from pio._study import Study, find_study
from pio._train import Trainer
from pio._write_up import write_up


class Task(NamedTuple):
    """One run of a reproduction, and what has become of it: `missing`, or as its status says.

    `left` is the share of its steps that are still to be taken.
    """

    arch: str
    seed: int
    path: Path
    state: str
    left: float = 1.0


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

    def config(self, arch: str) -> Config:
        """What a run of an architecture is, but for its seed, and its steps if a time decides them."""
        flags = {**self._flags(arch), "preset": self.preset, "train.steps": self.steps}
        return resolve(self.registry, settings=self.settings, flags=flags)

    def _flags(self, arch: str) -> dict[str, Any]:
        options = {f"equation.{key}": value for key, value in self.study.options.items()}
        return {**options, "equation.name": self.equation, "arch.name": arch}

    def tasks(self) -> Iterator[Task]:
        """The runs there are to be, and how far each is."""
        for arch in self.archs:
            for seed in self.seeds:
                path = self.directory / "runs" / f"{arch}-{seed}"
                if not (path / "config.toml").exists():
                    yield Task(arch, seed, path, "missing")
                    continue
                status = read_status(path)
                yield Task(arch, seed, path, status["state"], _left(status))

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

    # ------------------------------------------------------------------------------------------
    # The published setting

    def departures(self, archs: Sequence[str] | None = None) -> Departures | None:
        """Each way in which this differs from the published setting; none if that is not known.

        It is the preset `paper`, which not every equation has.
        """
        problem = self.registry.make("equation", self.equation, self.study.options)
        if "paper" not in presets(problem):
            return None
        pairs = {}
        for arch in archs or self.archs:
            flags = {**self._flags(arch), "preset": "paper"}
            # An architecture may need an option that only we give: of that one, nothing was published.
            with contextlib.suppress(PioError):
                pairs[arch] = (
                    self.timed(arch) or self.config(arch),
                    resolve(self.registry, flags=flags),
                )
        if not pairs:
            return None
        time = None if self.seconds is None else f"as many as fit into {self.seconds:g} s"
        return departures(pairs, {} if time is None else {"steps": time})

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
            kept["timed"] = {str(a): int(steps) for a, steps in kept.get("timed", {}).items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise PioError(f"{path} cannot be read: {error}; choose another --out.") from error
        for key, value in self._asked.items():
            if kept.get(key) != value:
                raise PioError(
                    f"{self.directory} was begun with {key} {kept.get(key)} and is now asked for "
                    f"{key} {value}; repeat the first command, or choose another --out."
                )
        return kept

    def _keep(self, kept: Mapping[str, Any]) -> None:
        with writing(self.directory, begun=False):
            write(self.directory / "plan.json", json.dumps(kept, indent=2) + "\n")

    def check(self) -> None:
        """Refuse, before anything is begun, what cannot be done."""
        self._require_free_settings()
        for arch in self.archs:
            ready(self.config(arch), self.registry)
        self._kept()

    def _require_free_settings(self) -> None:
        """Refuse settings that the study or another option decides: they would be passed over in silence."""
        decided = {
            "equation.name": f"the study {self.name!r} is of equation {self.equation!r}",
            "arch.name": "a study has several architectures; choose with --archs",
            "train.seed": "each architecture has several seeds; choose with --seeds",
            "preset": "choose with --preset",
        }
        for key, value in self.study.options.items():
            decided[f"equation.{key}"] = f"the study {self.name!r} has {key} = {value}"
        if self.seconds is not None or self.steps is not None:
            decided["train.steps"] = "a time or a number of steps is given already"
        for key in self.settings:
            if _whole(key) in decided:
                raise PioError(f"{key!r} cannot be set here: {decided[_whole(key)]}.")

    def timed(self, arch: str) -> Config | None:
        """The config of an architecture with the steps that its time became; none while that is not known."""
        config = self.config(arch)
        if self.seconds is None:
            return config
        steps = self._kept()["timed"].get(arch)
        if steps is None:
            return None
        return dataclasses.replace(config, train=dataclasses.replace(config.train, steps=steps))

    def _time(self, arch: str, say: Callable[[str], None], stop: Callable[[], bool]) -> Config:
        """The same, found once for all seeds."""
        found = self.timed(arch)
        if found is None:
            assert self.seconds is not None
            say(f"timing {arch}, to fill {self.seconds:g} s …")
            found = filling(self.config(arch), self.registry, self.seconds, stop=stop)
            kept = self._kept()
            kept["timed"][arch] = found.train.steps
            self._keep(kept)
        return found

    # ------------------------------------------------------------------------------------------
    # What runs are measured on, and who may write

    @cached_property
    def _problem(self) -> Equation:
        problem: Equation = self.registry.make("equation", *self.config(self.archs[0]).equation)
        return problem

    @property
    def references(self) -> tuple[str, ...]:
        """What errors are compared against: the published one first, then the truth."""
        truth = next(iter(self._problem.references))
        return tuple(dict.fromkeys([self.study.reference or truth, truth]))

    @cached_property
    def _fingerprint(self) -> str:
        """Of the test functions that training measures on."""
        equation = self._problem
        functions = self.config(self.archs[0]).train.test_functions
        points = {name: np.asarray(equation.grid[name], float) for name in equation.domain.names}
        return fingerprint(inputs_of_testset(equation, functions), points)

    @cached_property
    def _lock(self) -> FileLock:
        return FileLock(self.directory / ".lock", timeout=0)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the directory. Within it, `reproduce` and `conclude` lock it again and are let in."""
        with writing(self.directory, begun=False):
            self.directory.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except Timeout:
                raise PioError(f"{self.directory} is being made by another process.") from None
        try:
            yield
        finally:
            self._lock.release()


def _left(status: Mapping[str, Any]) -> float:
    """The share of its steps that a run has not taken."""
    if status["state"] == "done":
        return 0.0
    try:
        return min(1.0, max(0.0, 1.0 - int(status["step"]) / int(status["steps"])))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return 1.0


def _whole(key: str) -> str:
    """The dotted name of a setting: `seed` is `train.seed`, `arch` is `arch.name`."""
    section, _, name = key.partition(".")
    section = {"architecture": "arch"}.get(section, section)
    if name or section == "preset":
        return f"{section}.{name}" if name else section
    return f"{section}.name" if section in PLUGINS else f"train.{section}"


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
        plan._keep(plan._kept())
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
        trainers[task.arch] = ready(plan._time(task.arch, say, stop), plan.registry)
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
    known = plan._problem.references
    return kept.fingerprint == plan._fingerprint and all(
        name in kept.errors and kept.versions.get(name) == known[name].version
        for name in plan.references
    )
