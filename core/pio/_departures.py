"""Departures: in what runs differ from the setting that was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pio._config import Config
from pio._variant import settings_of

# Settings that are no part of a recipe: what is kept and how often it is measured.
_ASIDE = {"schema", "preset", "run", "train.seed", "train.evaluations", "train.rows"}
# Of a plugin by another name, the name says it; its options have nothing to be compared with.
_NAMED = ("embedding", "weighting", "optimizer")
_SIZES = ("steps", "train_functions", "test_functions", "arch.", "sampling.")


class Departure(NamedTuple):
    """A setting, its value here and the published one."""

    key: str
    ours: Any
    theirs: Any

    @property
    def smaller(self) -> bool:
        """Whether it makes the training shorter or the network or its batches smaller."""
        numbers = all(
            isinstance(v, (int, float)) and not isinstance(v, bool)
            for v in (self.ours, self.theirs)
        )
        return numbers and self.key.startswith(_SIZES) and self.ours < self.theirs


class Departures(NamedTuple):
    """Each way in which runs differ from the published setting, in words, and what that amounts to.

    `smaller` says that something was scaled down, `other_problem` that another equation is solved.
    """

    each: tuple[str, ...]
    smaller: bool
    other_problem: bool


def departures(
    configs: Mapping[str, tuple[Config, Config]], said: Mapping[str, str] | None = None
) -> Departures:
    """How configs differ from published ones, given as a pair for each architecture.

    `said` has words to be used in the place of a value: `{"steps": "as many as fit into 180 s"}`.
    """
    said = said or {}
    archs: dict[str, list[str]] = {}
    found: list[Departure] = []
    for arch, (ours, theirs) in configs.items():
        for departure in _between(ours, theirs):
            found.append(departure)
            here = said.get(departure.key, _plainly(departure.ours))
            words = f"{departure.key} {here} (published: {_plainly(departure.theirs)})"
            archs.setdefault(words, []).append(arch)
    each = [
        words if len(which) == len(configs) else f"{words} for {', '.join(which)}"
        for words, which in archs.items()
    ]
    return Departures(
        tuple(each),
        any(d.smaller for d in found),
        any(d.key.startswith("equation.") for d in found),
    )


def _between(ours: Config, theirs: Config) -> Iterator[Departure]:
    a, b = _settings(ours), _settings(theirs)
    passed = []
    for section in _NAMED:
        mine, other = a[f"{section}.name"], b[f"{section}.name"]
        if mine != other:
            yield Departure(section, mine, other)
            passed.append(f"{section}.")
    if a["sampling.kind"] != b["sampling.kind"]:
        yield Departure("batches of", _batches(ours), _batches(theirs))
        passed.append("sampling.")
    keys = [key for key in {**a, **b} if not key.startswith(tuple(passed))]
    # The steps first, then what else `[train]` has, then the sections.
    for key in sorted(keys, key=lambda key: (key != "steps", "." in key, key)):
        mine, other = a.get(key), b.get(key)
        if _plainly(mine) != _plainly(other):
            yield Departure(key, mine, other)


def _settings(config: Config) -> dict[str, Any]:
    return {k.removeprefix("train."): v for k, v in settings_of(config, _ASIDE).items()}


def _batches(config: Config) -> str:
    sampling = config.as_dict()["sampling"]
    counts = [
        f"{key} {_plainly(sampling[key])}"
        for key in ("batch", "residual", "functions", "points")
        if key in sampling
    ]
    return f"{sampling['kind']} {', '.join(counts)}"


def _plainly(value: Any) -> str:
    if isinstance(value, Mapping):
        return " × ".join(map(str, value.values())) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
