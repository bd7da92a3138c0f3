"""A run directory: what was asked for, what happened, and what came of it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
import safetensors
import safetensors.numpy
from filelock import FileLock, Timeout

from pio._access import reading
from pio._checkpoint import Checkpoints
from pio._config import SCHEMA, Config, changes, read_toml, resolve
from pio._equation import Equation
from pio._errors import PioError, RunError
from pio._errors_file import ErrorsFile
from pio._evaluate import predict
from pio._files import checksum, flat, name, unflat, write, writing
from pio._json import to_json
from pio._model import Model, Params
from pio._registry import Registry, discover
from pio._solutions import Solutions
from pio._solve import check_range
from pio._train import Record, Trainer, model_of, shapes_of

PACKAGES = ("pio-operators", "jax", "jaxlib", "dm-haiku", "optax", "numpy", "orbax-checkpoint")


@dataclass(frozen=True, eq=False)
class Run:
    """A run on disk.

        run = pio.load_run("runs/kdv-bxtg-fast-0")
        s = run.predict(u, t=[0.5, 1.0], x=x)       # (functions, x, t)

    `pio.load_run` opens one, `pio.train` makes one.
    """

    path: Path
    config: Config
    registry: Registry

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    # ------------------------------------------------------------------------------------------
    # What was learned

    @cached_property
    def trainer(self) -> Trainer:
        return Trainer.of(self.config, self.registry)

    @cached_property
    def model(self) -> Model:
        # Not the trainer's, which reads labelled data: a model needs them no more.
        return model_of(self.config, self.registry)

    @property
    def equation(self) -> Equation:
        return self.model.equation

    @cached_property
    def params(self) -> Params:
        """The parameters at the end, or at the latest checkpoint if the run has not ended."""
        arrays, config = self._learned()
        if config is not None:
            self.require_config(config)
        try:
            return unflat(arrays, shapes_of(self.model, self.config))
        except KeyError as error:
            raise PioError(
                f"the parameters of run {self.path} do not fit its config: {error} differs; a plugin has "
                "changed since the run was made."
            ) from error

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters by name, whatever the config has become."""
        return self._learned()[0]

    def _learned(self) -> tuple[dict[str, np.ndarray], str | None]:
        """The parameters by name, and the config they were made with, which older checkpoints lack."""
        path = self.path / "model.safetensors"
        with reading(path):
            ended = path.exists()
        if ended:
            arrays, about = read_model(path)
            return arrays, about.get("config")
        checkpoints = self.checkpoints
        for step in reversed(checkpoints.steps()):
            with contextlib.suppress(RunError):
                state, about = checkpoints.arrays(step)
                head = "params/"
                arrays = {k.removeprefix(head): a for k, a in state.items() if k.startswith(head)}
                return arrays, about.get("config")
        raise PioError(
            f"run {self.path} has no model yet; continue it with `pio resume {self.path}`."
        )

    def require_config(self, text: str) -> None:
        """Refuse to take what was made with one config for the outcome of another."""
        try:
            was = resolve(self.registry, config=tomllib.loads(text), stored=True)
            changed = changes(was, self.config)
        except PioError as error:  # what it names is no longer there
            why = f"config.toml of run {self.path} is not the one it was made with: {error}"
        else:
            if not changed:
                return
            key, (before, now) = next(iter(changed.items()))
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            why = f"run {self.path} was made with {key} = {before}, but its config.toml says {now}{more};"
        raise PioError(
            f"{why} put that back. To train with another config, begin another run, `pio train "
            f"--config FILE --init-from {self.path} --out DIR`."
        )

    def predict(self, u: Any, t: Any = None, x: Any = None, **more: Any) -> Any:
        """s for each u on the sensors, aligned on the domain's axes, `(functions, x, t)`.

        Coordinates are one increasing array each, on the equation's grid unless given. A system
        has a mapping from each unknown to its s.
        """
        given = {"t": t, "x": x, **more}
        points = {n: np.atleast_1d(p) for n, p in given.items() if p is not None}
        grid = {n: p for n, p in self.equation.grid.items() if n not in points}
        check_range(u, self.config.train.precision)
        found = predict(self.model, self.params, u, {**grid, **points})
        return found[self.equation.unknowns[0]] if len(self.equation.unknowns) == 1 else found

    # ------------------------------------------------------------------------------------------
    # What is on disk

    @property
    def checkpoints(self) -> Checkpoints:
        keep = self.config.run.checkpoints
        text = self.config.toml()
        return Checkpoints(self.path / "checkpoints", keep, text, self.require_config)

    @property
    def status(self) -> dict[str, Any]:
        """`status.json`: `state` is running, done, interrupted, failed, killed, new or damaged; `step`, …"""
        return read_status(self.path)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of `metrics.jsonl`; a last line that was cut short is left out."""
        return [line for line, _ in _lines(self.path / "metrics.jsonl")]

    def write_status(self, state: str, **more: Any) -> None:
        about = {"schema": SCHEMA, "state": state, "steps": self.config.train.steps, **more}
        with writing(self.path):
            write(self.path / "status.json", to_json(about, indent=2) + "\n")

    def write_model(self, params: Params, step: int) -> None:
        arrays = flat(params)
        about = {"schema": SCHEMA, "step": step, "config": self.config.toml()}
        about["checksum"] = checksum(arrays, json.dumps(about))
        # Several entries would be written in an order that differs from run to run.
        data = safetensors.numpy.save(arrays, {"pio": json.dumps(about)})
        with writing(self.path):
            write(self.path / "model.safetensors", data)

    def write_errors(self, errors: np.ndarray, testset: Solutions) -> None:
        found = {testset.reference: errors}
        with writing(self.path):
            ErrorsFile.of(self.equation, found, testset).write(self.path)

    def append(self, record: Record) -> None:
        with writing(self.path), (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(to_json(record.as_dict()) + "\n")

    def cut_metrics(self, step: int) -> None:
        """Forget what was recorded after a step: it is about to be recorded again."""
        path = self.path / "metrics.jsonl"
        kept = [text for line, text in _lines(path) if line.get("step", 0) <= step]
        with writing(self.path):
            write(path, "".join(f"{text}\n" for text in kept))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the run: two processes must not train it at once."""
        lock = FileLock(self.path / ".lock", timeout=1)  # `pio runs` may hold it for a moment
        with writing(self.path):
            try:
                lock.acquire()
            except Timeout:
                raise PioError(f"run {self.path} is being trained by another process.") from None
        try:
            yield
        finally:
            lock.release()


def create_run(
    config: Config, registry: Registry, path: str | os.PathLike[str] | None = None
) -> Run:
    """A new run directory, `runs/EQUATION-ARCH-PRESET-SEED` unless told."""
    text = config.toml()
    environment = to_json(_environment(registry), indent=2) + "\n"
    if path is not None:
        require_vacant(Path(path))
        return _make(Path(path), text, environment, config, registry)
    while True:
        path = _free(config)
        with contextlib.suppress(_TakenError):  # by a process that began at the same moment
            return _make(path, text, environment, config, registry)


class _TakenError(PioError):
    """A directory that another run has."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} already holds a run; continue it with `pio resume {path}`, or choose another "
            "directory with --out."
        )


def _make(path: Path, text: str, environment: str, config: Config, registry: Registry) -> Run:
    with writing(path, begun=False):
        path.mkdir(parents=True, exist_ok=True)
        with FileLock(path / ".lock"):  # two processes that want one directory: the second is told
            if (path / "config.toml").exists():
                raise _TakenError(path)
            write(path / "environment.json", environment)
            write(path / "config.toml", text)  # last: with it, the directory is a run
    return Run(path, config, registry)


def require_vacant(path: Path) -> None:
    """Refuse a directory that holds something."""
    with reading(path):
        taken = (path / "config.toml").exists()
        there = path.exists()
        other = there and (not path.is_dir() or {p.name for p in path.iterdir()} - {".lock"})
    if taken:
        raise _TakenError(path)
    if other:
        raise PioError(f"{path} exists and is no empty directory; choose another with --out.")


def load_run(path: str | os.PathLike[str], registry: Registry | None = None) -> Run:
    """A run from its directory."""
    path = Path(path)
    with reading(path):
        found = (path / "config.toml").is_file()
    if not found:
        raise PioError(f"there is no run in {path} (it has no config.toml); `pio runs` lists runs.")
    given = read_toml(path / "config.toml")
    schema = given.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise PioError(
            f"run {path} was made by a later version of pio (schema {schema}; this one reads up to "
            f"{SCHEMA}); upgrade with `pip install -U pio-operators`."
        )
    registry = discover() if registry is None else registry
    try:
        return Run(path, resolve(registry, config=given, stored=True), registry)
    except PioError as error:
        raise PioError(f"run {path} cannot be opened: {error}{_missing(path, registry)}") from error


def read_model(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a model file and what it says of itself (`config`, `step`, …), its checksum compared."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            about = dict(json.loads((file.metadata() or {})["pio"]))
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise PioError(f"cannot read {path}: {error.strerror or error}.") from error
    except Exception as error:
        raise PioError(f"{path} is damaged: {error}. {_RECOVER}") from error
    schema = about.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        raise PioError(
            f"{path} was made by a later version of pio; upgrade with `pip install -U pio-operators`."
        )
    if about.pop("checksum", None) != checksum(arrays, json.dumps(about)):
        raise PioError(f"{path} is damaged: its checksum is wrong. {_RECOVER}")
    return arrays, about


_RECOVER = "`pio resume` on its run writes it again from the last checkpoint."


def read_status(path: Path) -> dict[str, Any]:
    """`status.json` of a run, `{"state": "new"}` if there is none; a process that is gone was killed.

    What says nothing, or has another type than was written, is `{"state": "damaged"}`.
    """
    try:
        found = json.loads((path / "status.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"state": "new"}
    except (OSError, ValueError):
        return {"state": "damaged"}
    if not isinstance(found, dict) or not isinstance(found.get("state"), str):
        return {"state": "damaged"}
    if not all(_is_a(kind, found[key]) for key, kind in _KINDS.items() if key in found):
        return {"state": "damaged"}
    if found["state"] == "running" and not _in_use(path):
        found["state"] = "killed"
    return found


_KINDS: dict[str, type] = dict.fromkeys(("step", "steps"), int)
_KINDS |= dict.fromkeys(("seconds", "loss", "error", "median", "compile_seconds"), float)


def _is_a(kind: type, value: Any) -> bool:
    """Whether JSON has a number of this kind, or null for one that is not finite."""
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None or type(value) in (int, float)


def _in_use(path: Path) -> bool:
    lock = FileLock(path / ".lock", timeout=0)
    try:
        if not (path / ".lock").exists():
            return False
        lock.acquire()
    except Timeout:
        return True
    except OSError:  # a place where nothing can be written: nobody trains there
        return False
    lock.release()
    return False


def digest_of_run(path: str | os.PathLike[str], registry: Registry) -> str:
    """The SHA-256 of a run's parameters."""
    return checksum(load_run(path, registry).arrays())


def take_over(
    params: Params, theirs: Mapping[str, np.ndarray]
) -> tuple[Params, list[str], list[str]]:
    """Parameters where arrays of equal name and shape are taken; which were, and which were not.

    Shapes in place of parameters are enough to tell.
    """
    taken, left = [], []

    def take(path: Any, mine: Any) -> Any:
        found = theirs.get(name(path))
        if found is None or found.shape != mine.shape:
            left.append(name(path))
            return mine
        taken.append(name(path))
        return found.astype(mine.dtype)

    return jax.tree_util.tree_map_with_path(take, params), taken, left


def _lines(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found, line


def _free(config: Config) -> Path:
    stem = f"{config.equation.name}-{config.arch.name}-{config.preset}-{config.train.seed}"
    path = Path("runs") / stem
    count = 1
    while path.exists():
        count += 1
        path = Path("runs") / f"{stem}-{count}"
    return path


def _environment(registry: Registry) -> Mapping[str, Any]:
    def version(package: str) -> str | None:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    return {
        "schema": SCHEMA,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "packages": {package: version(package) for package in PACKAGES},
        "devices": [f"{d.platform}: {d.device_kind}" for d in jax.devices()],
        "plugins": [
            {
                "distribution": p.source.distribution,
                "version": p.source.version,
                "file": p.source.path,
            }
            for p in registry.plugins
        ],
    }


def _missing(path: Path, registry: Registry) -> str:
    """Which plugins the run had that are not here."""
    try:
        plugins = json.loads((path / "environment.json").read_text(encoding="utf-8"))["plugins"]
        had = {p["distribution"] or p["file"]: p for p in plugins}
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    here = {p.source.distribution or p.source.path for p in registry.plugins}
    gone = [who for who in had if who not in here]
    if not gone:
        return ""
    files = [who for who in gone if had[who]["file"]]
    advice = f"install {gone[0]}"
    if files:
        given = ", ".join(repr(file) for file in files)
        advice = (
            f"give it before the command, `pio --plugin {files[0]} …`, or in Python, "
            f"`pio.load_run({str(path)!r}, pio.discover([{given}]))`"
        )
    return f" The run was made with {', '.join(gone)}, which is not loaded; {advice}."
