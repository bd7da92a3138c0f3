"""A comparison: variants of a model on one equation and one test set, beside a baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pio._comparable import Given, comparable, find_baseline
from pio._errors import PioError
from pio._errors_file import ErrorsFile
from pio._options import options
from pio._published import Published
from pio._recipe import Choice
from pio._registry import Registry, discover
from pio._run import Run
from pio._statistics import Statistics, check_ranks, statistics
from pio._variant import Variant
from pio._verdict import LEVEL, SEEDS, Verdict, verdicts


@dataclass(frozen=True, eq=False)
class Comparison:
    """Variants, the baseline last, with what is said of each. `pio.compare` makes one, `pio.write_up` a report.

    `statistics` and `verdicts` are by label, for all but the baseline. `functions` were drawn with
    `seed` and measured against `reference`; errors on the way are against `truth`. `notes` are sentences that
    a reader should know.
    """

    title: str
    equation: Choice
    reference: str
    functions: int
    seed: int
    baseline: Variant
    variants: tuple[Variant, ...]
    statistics: Mapping[str, Statistics]
    verdicts: Mapping[str, Verdict]
    ranks: str
    level: float
    source: str
    notes: tuple[str, ...]
    truth: str

    @property
    def others(self) -> tuple[Variant, ...]:
        """All but the baseline."""
        return tuple(v for v in self.variants if v is not self.baseline)

    @property
    def best(self) -> Variant:
        """The one with the least mean error, beside the baseline."""
        return min(self.others, key=lambda v: v.mean)

    def ratio(self, variant: Variant) -> float:
        """Its time per step over the baseline's."""
        return variant.seconds_per_step / self.baseline.seconds_per_step

    def reaches(self, variant: Variant) -> float | None:
        """Seconds of training after which it first had the baseline's final error; none if it never had.

        Of the typical run of each, as far as the test error was measured on the way: against `truth`, on the
        test functions of training.
        """
        goal = self.baseline.curve
        if not len(goal.errors):
            return None
        if variant is self.baseline:
            return float(goal.seconds[-1])  # it may have been as good before, and worse in between
        return variant.curve.reaches(goal.errors[-1])

    @property
    def few(self) -> bool:
        """Whether some variant has too few seeds for more than these networks to be spoken of."""
        return min(len(v.runs) for v in self.variants) < SEEDS

    def as_dicts(self) -> list[dict[str, Any]]:
        """One plain mapping per variant, as `pio compare --json` prints them."""
        return [self._as_dict(variant) for variant in self.variants]

    def _as_dict(self, variant: Variant) -> dict[str, Any]:
        q1, median, q3 = variant.quartiles
        found: dict[str, Any] = {
            "variant": variant.label,
            "baseline": variant is self.baseline,
            "runs": [str(run.path) for run in variant.runs],
            "seeds": list(variant.seeds),
            "steps": variant.config.train.steps,
            "reference": self.reference,
            "functions": self.functions,
            "test_seed": self.seed,
            "mean": variant.mean,
            "std": variant.std,
            "spread": variant.spread,
            "q1": q1,
            "median": median,
            "q3": q3,
            "seconds_per_step": variant.seconds_per_step,
            "time_ratio": self.ratio(variant),
            "seconds_to_baseline_error": self.reaches(variant),
        }
        if variant.published is not None:
            found["published"] = variant.published._asdict()
        if variant is not self.baseline:
            verdict, s = self.verdicts[variant.label], self.statistics[variant.label]
            found |= {
                "verdict": verdict.kind,
                "words": verdict.words,
                "ranks": self.ranks,
                **asdict(s),
                "p_equivalent": verdict.p_equivalent,
                "p_different": verdict.p_different,
                "p_different_uncorrected": s.p_different,
                "median": median,
            }
        return found


def compare(
    runs: Iterable[Given],
    baseline: Given | None = None,
    *,
    reference: str | None = None,
    ranks: str = "textbook",
    margin: float | None = None,
    level: float = LEVEL,
    published: Mapping[str, Published] | None = None,
    source: str = "",
    notes: Sequence[str] = (),
    title: str | None = None,
    registry: Registry | None = None,
) -> Comparison:
    """Compare runs of one equation on one test set.

    Runs that differ only in the seed are one variant: their errors are averaged, function by
    function, and tested against the baseline's. The baseline is an architecture, a label or a run,
    which need not be among the others.
    `published` has what others reported, by architecture or label, and `source` says who did; `notes` are
    sentences for the report.

        comparison = pio.compare(["runs/tl", "runs/modified"], baseline="modified")
        print(comparison.verdicts["tl"].words)
        pio.write_up(comparison, "comparisons/mine")

    A directory that holds runs, as `pio train --seeds` makes it, stands for all of them.
    """
    check_ranks(ranks)
    if not 0 < level < 1:
        raise PioError(f"a level of significance lies between 0 and 1 (got {level}).")
    registry = discover() if registry is None else registry
    groups, kept, name = comparable(runs, baseline, reference, registry)
    base = find_baseline(groups, baseline)
    reported = published or {}
    made = [
        Variant(
            label,
            members,
            np.stack([kept[run.path].errors[name] for run in members]),
            tuple(_seconds_per_step(run) for run in members),
            reported.get(label, reported.get(members[0].config.arch.name)),
        )
        for label, members in groups.items()
    ]
    chosen = next(v for v in made if v.label == base)
    others = [v for v in made if v is not chosen]
    found = [
        statistics(
            v.averaged, chosen.averaged, margin=margin, ranks=ranks, names=(v.label, chosen.label)
        )
        for v in others
    ]
    labels = [v.label for v in others]
    few = [v.label for v in others if min(len(v.runs), len(chosen.runs)) < SEEDS]
    said = verdicts(found, labels, chosen.label, level, few=few)
    file = kept[chosen.runs[0].path]
    equation = chosen.config.equation
    truth = next(iter(registry.make("equation", *equation).references))
    return Comparison(
        title=title or _named(equation, registry),
        equation=equation,
        reference=name,
        functions=file.functions,
        seed=file.seed,
        baseline=chosen,
        variants=(*others, chosen),
        statistics=dict(zip(labels, found, strict=True)),
        verdicts=dict(zip(labels, said, strict=True)),
        ranks=ranks,
        level=level,
        source=source,
        notes=(
            *notes,
            *_remarks(made),
            *_overlaps(chosen, others, said),
            *_on_the_way(made, file, name, truth),
        ),
        truth=truth,
    )


def _seconds_per_step(run: Run) -> float:
    """The mean time of a step over the whole run."""
    status = run.status
    try:
        found = float(status["seconds"]) / int(status["step"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        found = 0.0
    if not (np.isfinite(found) and found > 0):
        raise PioError(f"run {run.path} does not say how long it took ({run.path}/status.json).")
    return found


def _named(equation: Choice, registry: Registry) -> str:
    """An equation with those of its options that are not the usual ones."""
    usual = {o.name: o.default for o in options(registry.load("equation", equation.name))}
    changed = [
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in equation.options.items()
        if value != usual.get(key)
    ]
    return ", ".join([equation.name, *changed])


# ---------------------------------------------------------------------------------------------
# What a reader should know


def _remarks(variants: Sequence[Variant]) -> Iterator[str]:
    counts = {len(v.runs) for v in variants}
    if counts == {1}:
        yield (
            "Each variant was trained with one seed. What is said holds for these networks on such test "
            "functions; how much another seed would change is not known."
        )
    elif min(counts) < SEEDS:
        yield (
            f"With fewer than {SEEDS} seeds, what is said holds for these networks on such test functions. The "
            "same architectures with other seeds may come out otherwise."
        )
    if len(counts) > 1:
        each = ", ".join(f"{v.label} {len(v.runs)}" for v in variants)
        yield f"The number of seeds differs: {each}. Averages over more seeds vary less."
    steps = {v.config.train.steps for v in variants}
    if len(steps) > 1:
        each = ", ".join(f"{v.label} {v.config.train.steps:,}" for v in variants)
        yield f"The number of steps differs: {each}."
    machines = {_machine(run) for v in variants for run in v.runs}
    if len(machines) > 1:
        yield (
            "The runs were made on different machines or devices, so their times are not comparable: "
            f"{'; '.join(sorted(machines))}."
        )


def _overlaps(
    baseline: Variant, others: Sequence[Variant], said: Sequence[Verdict]
) -> Iterator[str]:
    """Where seeds of one kind differ as much as the kinds do."""

    def means(v: Variant) -> np.ndarray:
        return np.asarray(v.errors.mean(1))

    mine = means(baseline)
    close = [
        v.label
        for v, verdict in zip(others, said, strict=True)
        if verdict.kind in ("better", "worse")
        and min(len(v.runs), len(baseline.runs)) > 1
        and max(means(v).min(), mine.min()) <= min(means(v).max(), mine.max())
    ]
    if close:
        yield (
            f"The mean errors of single seeds overlap with those of {baseline.label}: {', '.join(close)}. The verdict "
            "holds for the networks that were trained; other seeds may turn it round."
        )


def _on_the_way(
    variants: Sequence[Variant], file: ErrorsFile, reference: str, truth: str
) -> Iterator[str]:
    """Training measures against the truth on its own test functions; a comparison may be on others."""
    functions = {v.config.train.test_functions for v in variants}
    if reference != truth or file.seed != 0 or functions != {file.functions}:
        count = " or ".join(map(str, sorted(functions)))
        yield (
            f"Errors in the course of training, and so the time to the baseline’s error, are against {truth!r} on "
            f"the {count} test functions of training, not against {reference!r} on the {file.functions} of seed "
            f"{file.seed} that all else is about."
        )


def environment(run: Run) -> dict[str, Any]:
    """`environment.json` of a run; nothing of what cannot be read."""
    try:
        found = dict(json.loads((run.path / "environment.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
    # Only these are looked into.
    kinds = {"devices": list, "plugins": list, "packages": dict}
    return {k: v for k, v in found.items() if isinstance(v, kinds.get(k, object))}


def _machine(run: Run) -> str:
    found = environment(run)
    return f"{found.get('platform', 'unknown')} ({', '.join(map(str, found.get('devices', ())))})"
