"""Test sets: input functions and their solutions, made once and kept."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import platformdirs
from filelock import FileLock

from pio._equation import Equation
from pio._errors import PioError
from pio._solve import find_reference, solve
from pio._space import draw
from pio._warning import PioWarning

# Told apart from training functions, which fold the step into the same seed.
_TEST = 0x7E57

Progress = Callable[[int, int], None]

# What could not be kept on disk, by address: a command that asks twice need not solve twice.
_UNKEPT: dict[str, dict[str, np.ndarray]] = {}


@dataclass(frozen=True, eq=False)
class Solutions:
    """Functions u, `(f, sensors)`, and what a reference makes of them on a grid, `(f, x, t)`.

    `s` holds one array per unknown; `path` is where the set is kept, none if that was not possible, and
    `made` says whether it had to be made.
    """

    u: np.ndarray
    s: Mapping[str, np.ndarray]
    points: Mapping[str, np.ndarray]
    reference: str
    path: Path | None
    made: bool


def cache_directory() -> Path:
    """Where test sets are kept: `PIO_CACHE_DIR`, or the user's cache."""
    return Path(os.environ.get("PIO_CACHE_DIR") or platformdirs.user_cache_dir("pio")) / "solutions"


def solutions(
    equation: Equation,
    functions: int,
    *,
    seed: int = 0,
    reference: str | None = None,
    progress: Progress | None = None,
) -> Solutions:
    """The test set of an equation: from the cache if it is there, else made and kept.

    A set is addressed by everything that determines it, so nothing need ever be cleared: another
    option, seed, solver or grid is another set. A damaged file is made again; two processes that
    ask for one set at once make it once. Where it cannot be kept, a warning says so.
    """
    if functions < 1:
        raise PioError(f"a test set needs functions (got {functions}).")
    reference = reference or next(iter(equation.references))
    find_reference(equation, reference)
    u = inputs_of_testset(equation, functions, seed)
    points = {name: np.asarray(equation.grid[name], float) for name in equation.domain.names}
    address = _address(equation, reference, u, points)
    path = cache_directory() / f"{type(equation).__name__.lower()}-{functions}-{address[:24]}.npz"
    s = _load(path, address)
    if s is not None:
        return Solutions(u, s, points, reference, path, made=False)
    if address in _UNKEPT:
        return Solutions(u, _UNKEPT[address], points, reference, None, made=False)
    with contextlib.ExitStack() as stack:
        trouble: OSError | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(path.with_suffix(".lock")))
            s = _load(path, address)  # another process may have made it while we waited
        except OSError as error:
            trouble = error
        if made := s is None:
            found = solve(equation, u, points, reference=reference, progress=progress)
            s = found if isinstance(found, dict) else {equation.unknowns[0]: found}
            _check(s)
            try:
                if trouble is None:
                    _save(path, address, u, points, s)
            except OSError as error:
                trouble = error
    if trouble is None:
        return Solutions(u, s, points, reference, path, made)
    _UNKEPT[address] = s
    warnings.warn(
        f"the test set cannot be kept in {path.parent}: {trouble.strerror or trouble}; it will be made "
        "again the next time. Make room, or set PIO_CACHE_DIR to a directory that can be written.",
        PioWarning,
        stacklevel=2,
    )
    return Solutions(u, s, points, reference, None, made)


def inputs_of_testset(equation: Equation, functions: int, seed: int = 0) -> np.ndarray:
    """The input functions of a test set, without their solutions."""
    return draw(equation.inputs, jax.random.fold_in(jax.random.key(seed), _TEST), functions)


def _address(
    equation: Equation, reference: str, u: np.ndarray, points: Mapping[str, np.ndarray]
) -> str:
    """A digest of all that determines the solutions, the drawn functions themselves included."""
    kind = type(equation)
    options = dataclasses.asdict(equation) if dataclasses.is_dataclass(equation) else vars(equation)
    about = {
        "format": 1,
        "equation": f"{kind.__module__}.{kind.__qualname__}",
        "options": {k: repr(v) for k, v in sorted(options.items())},
        "reference": reference,
        "version": find_reference(equation, reference).version,
        # Someone who mends their solver must not be served the old solutions.
        "source": _source(kind),
    }
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for array in (u, *(points[name] for name in sorted(points))):
        digest.update(repr(array.shape).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _source(kind: type) -> str:
    try:
        return hashlib.sha256(
            inspect.getsource(inspect.getmodule(kind) or kind).encode()
        ).hexdigest()
    except (OSError, TypeError):  # typed at a prompt
        return ""


def _checksum(address: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(address.encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].shape} {arrays[name].dtype}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def _check(s: Mapping[str, np.ndarray]) -> None:
    for name, values in s.items():
        bad = ~np.isfinite(values).reshape(len(values), -1).all(1)
        if bad.any():
            raise PioError(
                f"the reference solver found no finite {name} for {bad.sum()} of {len(bad)} "
                f"functions (the first is {bad.argmax()}); its resolution may be too low for them."
            )


def _save(
    path: Path,
    address: str,
    u: np.ndarray,
    points: Mapping[str, np.ndarray],
    s: Mapping[str, np.ndarray],
) -> None:
    arrays = {"u": u}
    arrays |= {f"points.{n}": p for n, p in points.items()} | {f"s.{n}": v for n, v in s.items()}
    checksum = np.array(_checksum(address, arrays))
    part = path.with_suffix(".part")  # ours alone while we hold the lock
    try:
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, checksum=checksum, **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _load(path: Path, address: str) -> dict[str, np.ndarray] | None:
    """What is kept at a path, or nothing if that is absent or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile):
        return None
    if str(arrays.pop("checksum", "")) != _checksum(address, arrays):
        return None
    return {n.removeprefix("s."): a for n, a in arrays.items() if n.startswith("s.")}
