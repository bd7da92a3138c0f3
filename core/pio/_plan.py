"""A plan: the runs that a study asks for, how far each is, and how they differ from what was published."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock, Timeout

from pio._config import PLUGINS, SCHEMA, Config, presets, resolve
from pio._departures import Departures, departures
from pio._equation import Equation
from pio._errors import PioError
from pio._errors_file import fingerprint as fingerprint_of
from pio._files import write, writing
from pio._json import to_json
from pio._registry import Registry, discover
from pio._run import read_status
from pio._session import estimate, filling, ready
from pio._solutions import inputs_of_testset
from pio._study import Study, find_study
from pio._train import Trainer


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

    def begin(self) -> None:
        """Write down what is asked for, so that a later call asks for the same."""
        self._keep(self._kept())

    def _keep(self, kept: Mapping[str, Any]) -> None:
        with writing(self.directory, begun=False):
            write(self.directory / "plan.json", to_json(kept, indent=2) + "\n")

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

    def settle(self, arch: str, say: Callable[[str], None], stop: Callable[[], bool]) -> Config:
        """The same, timed now if it is not known: once for all seeds."""
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
    def problem(self) -> Equation:
        """The equation, with the study's options and ours."""
        problem: Equation = self.registry.make("equation", *self.config(self.archs[0]).equation)
        return problem

    @property
    def references(self) -> tuple[str, ...]:
        """What errors are compared against: the published one first, then the truth."""
        truth = next(iter(self.problem.references))
        return tuple(dict.fromkeys([self.study.reference or truth, truth]))

    @cached_property
    def fingerprint(self) -> str:
        """Of the test functions that training measures on."""
        equation = self.problem
        functions = self.config(self.archs[0]).train.test_functions
        points = {name: np.asarray(equation.grid[name], float) for name in equation.domain.names}
        return fingerprint_of(inputs_of_testset(equation, functions), points)

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
