"""What can be compared: runs that have ended, of one equation, measured on one test set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pio._errors import PioError, suggestion
from pio._errors_file import ErrorsFile, read_errors
from pio._registry import Registry
from pio._run import Run, load_run
from pio._variant import group

BASELINE = "modified"

Given = str | os.PathLike[str] | Run


def comparable(
    runs: Iterable[Given], baseline: Given | None, reference: str | None, registry: Registry
) -> tuple[dict[str, tuple[Run, ...]], dict[Path, ErrorsFile], str]:
    """Runs by variant, their errors by path, and the reference of these; whatever does not fit is refused."""
    opened = _distinct(run for given in runs for run in _open(given, registry))
    opened += _further(opened, baseline, registry)
    if len(opened) < 2:
        raise PioError(
            f"a comparison needs two runs at least (got {len(opened)}); give more, as "
            "`pio compare RUN RUN …`."
        )
    _require_one_equation(opened)
    for run in opened:
        _require_ended(run)
    kept = {run.path: read_errors(run.path) for run in opened}
    name = _reference(opened, kept, reference)
    _require_one_testset(opened, kept, name)
    groups = group(opened)
    if len(groups) < 2:
        raise PioError(
            f"a comparison needs two variants at least, but the {len(opened)} runs are all "
            f"{next(iter(groups))!r} and differ only in the seed."
        )
    return groups, kept, name


def _open(given: Given, registry: Registry) -> Iterator[Run]:
    if isinstance(given, Run):
        yield given
        return
    path = Path(given)
    inside = sorted(p.parent for p in path.glob("*/config.toml"))
    if inside and not (path / "config.toml").exists():
        yield from (load_run(p, registry) for p in inside)
    else:
        yield load_run(path, registry)


def _distinct(runs: Iterable[Run]) -> list[Run]:
    """Runs, each once, however often it was named."""
    return list({run.path.resolve(): run for run in runs}.values())


def _further(runs: Sequence[Run], baseline: Given | None, registry: Registry) -> list[Run]:
    """The runs of a baseline that is a run or a directory of runs, and is not among those given."""
    if baseline is None or os.fspath(baseline) in {run.config.arch.name for run in runs}:
        return []
    where = Path(baseline).resolve()
    if any(where in (run.path.resolve(), run.path.resolve().parent) for run in runs):
        return []
    if (where / "config.toml").is_file() or any(where.glob("*/config.toml")):
        return _distinct(_open(baseline, registry))
    return []


def _require_one_equation(runs: Sequence[Run]) -> None:
    first = runs[0]
    mine = first.config.equation
    for run in runs[1:]:
        other = run.config.equation
        if mine.name != other.name:
            raise PioError(
                f"run {first.path} solves {mine.name!r} and run {run.path} {other.name!r}; only runs of one "
                "equation can be compared."
            )
        for key in sorted({*mine.options, *other.options}):
            if mine.options.get(key) != other.options.get(key):
                raise PioError(
                    f"run {first.path} solves {mine.name!r} with {key}={mine.options.get(key)} and run "
                    f"{run.path} with {key}={other.options.get(key)}; only runs of one equation can be compared."
                )


def _require_ended(run: Run) -> None:
    status = run.status
    if status["state"] != "done":
        told = {"step", "steps"} <= status.keys()
        where = f" at step {status['step']} of {status['steps']}" if told else ""
        raise PioError(
            f"run {run.path} has not ended (it is {status['state']}{where}); continue it with "
            f"`pio resume {run.path}`, or leave it out."
        )


def _reference(runs: Sequence[Run], kept: Mapping[Path, ErrorsFile], reference: str | None) -> str:
    """The reference asked for, else the truth: the first that the files have."""
    name = reference or next(iter(kept[runs[0].path].errors))
    for run in runs:
        known = kept[run.path].errors
        if name not in known:
            truths = run.equation.references
            if name not in truths:
                raise PioError(
                    f"equation {run.config.equation.name!r} has no reference {name!r}"
                    f"{suggestion(name, truths)}"
                )
            raise PioError(
                f"run {run.path} has errors against {', '.join(known)} only, not against {name}; "
                f"`pio evaluate {run.path}` measures them."
            )
    return name


def _require_one_testset(
    runs: Sequence[Run], kept: Mapping[Path, ErrorsFile], reference: str
) -> None:
    first = runs[0]
    mine = kept[first.path]
    for run in runs[1:]:
        other = kept[run.path]
        again = f"`pio evaluate {run.path} --functions {mine.functions} --seed {mine.seed}`"
        if (mine.functions, mine.seed) != (other.functions, other.seed):
            raise PioError(
                f"run {first.path} was measured on {mine.functions} test functions of seed {mine.seed}, run "
                f"{run.path} on {other.functions} of seed {other.seed}; {again} measures it on the same."
            )
        if mine.fingerprint != other.fingerprint:
            raise PioError(
                f"runs {first.path} and {run.path} were measured on different test functions, though both "
                f"on {mine.functions} of seed {mine.seed}: the equation or its version has changed between "
                f"them; measure both again, with `pio evaluate RUN`."
            )
        if mine.versions.get(reference) != other.versions.get(reference):
            raise PioError(
                f"runs {first.path} and {run.path} were measured against different versions of the "
                f"solver {reference!r}; measure both again, with `pio evaluate RUN`."
            )


def find_baseline(groups: Mapping[str, tuple[Run, ...]], baseline: Given | None) -> str:
    """The label of the baseline: named, by a run of it, or the usual one."""
    by_arch: dict[str, list[str]] = {}
    for label, members in groups.items():
        by_arch.setdefault(members[0].config.arch.name, []).append(label)
    paths = {run.path.resolve(): label for label, runs in groups.items() for run in runs}
    if isinstance(baseline, Run):
        baseline = baseline.path
    name = BASELINE if baseline is None else os.fspath(baseline)
    if name in groups:
        return name
    if name in by_arch:
        if len(by_arch[name]) == 1:
            return by_arch[name][0]
        several = ", ".join(repr(label) for label in by_arch[name])
        raise PioError(
            f"the baseline {name!r} could be any of {several}; name one of these with --baseline."
        )
    where = Path(name)
    within = [label for path, label in paths.items() if where.resolve() in (path, path.parent)]
    if len(set(within)) == 1:
        return within[0]
    if baseline is None:
        raise PioError(
            f"none of the runs is of the usual baseline {BASELINE!r}; name one with --baseline"
            f"{suggestion('', groups)}"
        )
    raise PioError(f"the baseline {name!r} is not among the runs{suggestion(name, groups)}")
