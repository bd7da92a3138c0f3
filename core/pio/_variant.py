"""A variant: runs that differ in nothing but the seed, and what they came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pio._config import Config
from pio._errors import PioError
from pio._published import Published
from pio._run import Run

# Settings that do not change what is learned, only what is kept or measured of it.
IDLE = {"schema", "preset", "run", "train.seed", "train.evaluations", "train.test_functions"}


class Curve(NamedTuple):
    """Seconds of training, and the mean test error measured then."""

    seconds: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, run: Run) -> Curve:
        records = [(r.get("seconds"), r.get("error")) for r in run.metrics()]
        # A line that does not say when, or what, says nothing.
        known = [pair for pair in records if all(isinstance(v, (int, float)) for v in pair)]
        found = np.array(known, float).reshape(-1, 2)
        return cls(found[:, 0], found[:, 1])

    def reaches(self, error: float) -> float | None:
        """The seconds after which it first was so small; none if it never was."""
        there = np.flatnonzero(self.errors <= error)
        return float(self.seconds[there[0]]) if len(there) else None


@dataclass(frozen=True, eq=False)
class Variant:
    """The runs of one config with several seeds, their errors and their times.

    `errors` has a row per seed. `seconds` is the time a step took in each run, without compiling and
    evaluating. `published`, if given, is what others reported.
    """

    label: str
    runs: tuple[Run, ...]
    errors: Float[np.ndarray, "seeds f"]
    seconds: tuple[float, ...]
    published: Published | None = None

    @property
    def config(self) -> Config:
        """That of the first seed."""
        return self.runs[0].config

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.config.train.seed for run in self.runs)

    @property
    def averaged(self) -> Float[np.ndarray, " f"]:
        """The error of each function, averaged over the seeds: what is tested."""
        return np.asarray(self.errors.mean(0))

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        """The standard deviation over the functions, averaged over the seeds."""
        return float(self.errors.std(1).mean())

    @property
    def spread(self) -> float | None:
        """The standard deviation over the seeds of the mean error; none if there is one seed."""
        return float(self.errors.mean(1).std(ddof=1)) if len(self.runs) > 1 else None

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """Of the errors of all functions and seeds."""
        q1, median, q3 = np.quantile(self.errors, (0.25, 0.5, 0.75))
        return float(q1), float(median), float(q3)

    @property
    def seconds_per_step(self) -> float:
        return float(np.mean(self.seconds))

    @property
    def typical(self) -> Run:
        """The run whose mean error is the median over the seeds (of an even number, the better one)."""
        return self.runs[self._typical]

    @property
    def _typical(self) -> int:
        order = self.errors.mean(1).argsort(kind="stable")
        return int(order[(len(order) - 1) // 2])

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """The test error of each run, as it was measured on the way."""
        return tuple(Curve.of(run) for run in self.runs)

    @property
    def curve(self) -> Curve:
        """That of the typical run."""
        return self.curves[self._typical]


def group(runs: Sequence[Run]) -> dict[str, tuple[Run, ...]]:
    """Runs by variant, under labels that tell these apart, in the order given."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(settings_of(run.config)), []).append(run)
    found = list(groups.values())
    for members in found:
        _require_distinct_seeds(members)
    return dict(zip(_labels([m[0].config for m in found]), map(tuple, found), strict=True))


def _require_distinct_seeds(runs: Iterable[Run]) -> None:
    seen: dict[int, Run] = {}
    for run in runs:
        seed = run.config.train.seed
        if seed in seen:
            raise PioError(
                f"runs {seen[seed].path} and {run.path} have the same config and seed {seed}, so they are "
                "one run; give one of them."
            )
        seen[seed] = run


def settings_of(config: Config, without: Iterable[str] = IDLE) -> dict[str, Any]:
    """Every setting under its dotted name, sorted. A file of data is what it holds, wherever it lies."""
    found: dict[str, Any] = {}

    def visit(value: Any, key: str) -> None:
        if key in without or key == "data.file":
            return
        if isinstance(value, Mapping) and value:
            for name, inner in value.items():
                visit(inner, f"{key}.{name}" if key else str(name))
        else:
            found[key] = value

    visit(config.as_dict(), "")
    return dict(sorted(found.items()))


def _labels(configs: Sequence[Config]) -> list[str]:
    """The architecture of each, with what else tells those of one architecture apart."""
    found = [config.arch.name for config in configs]
    for name in dict.fromkeys(found):
        mine = [k for k, config in enumerate(configs) if config.arch.name == name]
        for k, more in zip(mine, _distinctions([configs[k] for k in mine]), strict=True):
            found[k] = f"{name} ({more})" if more else name
    return found


def _distinctions(configs: Sequence[Config]) -> list[str]:
    """As few settings as tell configs apart, `width 32, steps 100`; nothing if there is one."""
    settings = [settings_of(config, IDLE - {"preset"}) for config in configs]
    keys = list(dict.fromkeys(key for s in settings for key in s))
    # A preset, named first, says in a word what many settings say.
    keys.sort(key=lambda key: (key != "preset", not key.endswith(".name"), key))
    chosen: list[str] = []

    def apart(keys: Sequence[str]) -> int:
        return len({repr([s.get(key) for key in keys]) for s in settings})

    while apart(chosen) < len(configs):
        chosen.append(max(keys, key=lambda key: apart([*chosen, key])))
    return [", ".join(_said(key, s.get(key)) for key in chosen) for s in settings]


def _said(key: str, value: Any) -> str:
    section, _, name = key.rpartition(".")
    if key == "preset":
        return str(value)
    if name == "name":
        return f"{section} {value}"
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value)) or "none"
    text = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{name} {text}".replace("_", " ") if not isinstance(value, str) else f"{name} {text}"
