"""Checkpoints: the whole state of training, written by orbax, each whole or absent."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pio._access import reading
from pio._config import SCHEMA
from pio._errors import PioError, RunError
from pio._files import FULL, checksum, flat, sync, unflat, write, writing
from pio._json import to_json


class About(NamedTuple):
    """What is known of a checkpoint: its step, the seconds trained, the test error if it was measured."""

    step: int
    seconds: float = 0.0
    error: float | None = None


class Checkpoints:
    """The checkpoints in a directory: the latest few, and the best.

    A checkpoint is a directory `STEP/` with orbax's `state/` and `about.json`, which holds the run's config
    and a checksum of both. It is written under another name and renamed, so what has the right name is
    complete. `require` is called with the config that a checkpoint was written with before it is used; what
    older versions wrote has none.
    """

    def __init__(
        self,
        directory: Path,
        keep: int = 2,
        config: str = "",
        require: Callable[[str], None] = lambda config: None,
    ) -> None:
        self.directory, self.keep = directory, keep
        self.config, self.require = config, require

    def steps(self) -> list[int]:
        """The steps there are, in order."""
        with reading(self.directory):
            if not self.directory.is_dir():
                return []
            names = [p.name for p in self.directory.iterdir()]
        return sorted(int(n) for n in names if n.isascii() and n.isdigit() and str(int(n)) == n)

    def about(self, step: int) -> dict[str, Any]:
        """What `about.json` says; empty if it cannot be read."""
        try:
            found = json.loads((self.directory / str(step) / "about.json").read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def save(self, state: Any, about: About) -> None:
        """Write a checkpoint, then remove those that are no longer kept."""
        target = self.directory / str(about.step)
        part = self.directory / f".{about.step}.part"
        arrays = {key: a for key, a in flat(state).items() if a.size}  # orbax has no empty arrays
        known = {"schema": SCHEMA, **about._asdict(), "config": self.config}
        known["checksum"] = checksum(arrays, to_json(known))
        run = self.directory.parent
        with writing(run):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            try:
                _reserve(part / "room", sum(a.nbytes for a in arrays.values()))
                _orbax().save((part / "state").absolute(), arrays)
                write(part / "about.json", to_json(known))
                if target.exists():  # a damaged one: what is sound is never written twice
                    shutil.rmtree(target)
                part.rename(target)
                sync(self.directory)
            except OSError:
                raise
            except Exception as error:  # tensorstore has errors of its own
                code = next((c for c in FULL if os.strerror(c) in str(error)), None)
                raise OSError(code, os.strerror(code) if code else _short(error)) from error
            finally:
                shutil.rmtree(part, ignore_errors=True)
        self._prune()

    def _prune(self) -> None:
        steps = self.steps()
        errors = {s: e for s in steps if isinstance(e := self.about(s).get("error"), float)}
        kept = {*steps[-self.keep :], *sorted(errors, key=lambda s: errors[s])[:1]}
        for step in set(steps) - kept:
            shutil.rmtree(self.directory / str(step), ignore_errors=True)

    def latest(self, like: Any, warn: Callable[[str], None]) -> tuple[Any, About] | None:
        """The latest sound checkpoint as a pytree like this one, or nothing if there is none at all.

        A damaged one is reported and the one before it taken.
        """
        self._sweep()
        steps = self.steps()
        for step in reversed(steps):
            try:
                return self.load(step, like)
            except RunError as error:
                warn(str(error))
        if steps:
            raise RunError(
                f"no checkpoint in {self.directory} can be read; start the run again from its config.toml."
            )
        return None

    def load(self, step: int, like: Any) -> tuple[Any, About]:
        """One checkpoint. Raises a `RunError` if it is damaged."""
        arrays, about = self.arrays(step)
        if "config" in about:
            self.require(about["config"])
        try:
            tree = unflat(arrays, like)
        except KeyError as error:
            raise PioError(
                f"checkpoint {step} in {self.directory} does not fit this run's config: {error} differs; "
                "a plugin has changed since it was written."
            ) from error
        known = {key: about[key] for key in About._fields if key in about}
        return tree, About(**known)

    def arrays(self, step: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The arrays of a checkpoint by path, and what is known of it. Raises a `RunError` if it is damaged."""
        path = self.directory / str(step)
        about = self.about(step)
        if not _is_sensible(about):
            raise RunError(f"checkpoint {path} is damaged: its about.json is not what was written.")
        if about["schema"] > SCHEMA:
            raise PioError(
                f"checkpoint {path} was made by a later version of pio; upgrade with "
                "`pip install -U pio-operators`."
            )
        try:
            arrays = {
                k: np.asarray(a) for k, a in _orbax().restore((path / "state").absolute()).items()
            }
        except Exception as error:
            raise RunError(f"checkpoint {path} is damaged: {_short(error)}") from error
        rest = {key: value for key, value in about.items() if key != "checksum"}
        # Before there was a config in it, the checksum was that of the arrays alone.
        also = [to_json(rest)] if "config" in about else []
        if about["checksum"] != checksum(arrays, *also):
            raise RunError(f"checkpoint {path} is damaged: its checksum is wrong.")
        counted = arrays.get("step", np.array(step))
        if not step == about["step"] == counted:
            raise RunError(
                f"checkpoint {path} is damaged: it says that it is of step {about['step']}, and its "
                f"arrays are of step {counted}."
            )
        return arrays, about

    def _sweep(self) -> None:
        """Remove what a killed process left half written."""
        with contextlib.suppress(OSError):
            for part in self.directory.glob(".*.part"):
                shutil.rmtree(part, ignore_errors=True)


def _is_sensible(about: dict[str, Any]) -> bool:
    """Whether `about.json` has what it should, of the types it should have."""
    whole = [about.get(key) for key in ("schema", "step")]
    numbers: list[Any] = [about.get("seconds"), about.get("error") or 0.0]
    texts = [about.get("checksum"), about.get("config", "")]
    return (
        all(isinstance(v, int) and not isinstance(v, bool) for v in whole)
        and all(type(v) in (int, float) and math.isfinite(v) for v in numbers)
        and all(isinstance(v, str) for v in texts)
    )


def _reserve(path: Path, size: int) -> None:
    """Fail at once if there is no room: out of it, orbax ends with pages of tracebacks from its threads."""
    if hasattr(os, "posix_fallocate"):
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2 * size + 2**17)
        path.unlink()


def _orbax() -> Any:
    import orbax.checkpoint as ocp

    # It reports at length what it does well, and twice what it does not.
    logging.getLogger("absl").setLevel(logging.CRITICAL)
    return ocp.PyTreeCheckpointer()


def _short(error: BaseException) -> str:
    """The first line of an error that may have many."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
