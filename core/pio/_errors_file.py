"""The errors of a run: one per test function and reference, and which functions these were."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pio._equation import Equation
from pio._errors import PioError
from pio._files import write
from pio._solutions import Solutions
from pio._solve import find_reference

SCHEMA = 1
NAME = "errors.npz"
# What the file says about itself. No reference has a dot in its name.
_ABOUT = "about.json"


@dataclass(frozen=True, eq=False)
class ErrorsFile:
    """What `errors.npz` holds: relative L2 errors by reference, the truth first, and their test set.

    `seed` and `fingerprint` tell of the test functions and the grid, `versions` of the solvers: errors
    may be compared function by function where all of these agree.
    """

    errors: Mapping[str, np.ndarray]
    seed: int
    fingerprint: str
    versions: Mapping[str, int]

    @classmethod
    def of(
        cls,
        equation: Equation,
        errors: Mapping[str, np.ndarray],
        testset: Solutions,
        seed: int = 0,
    ) -> ErrorsFile:
        """Errors that were measured on the functions of a test set."""
        versions = {name: find_reference(equation, name).version for name in errors}
        return cls(errors, seed, fingerprint(testset.u, testset.points), versions)

    @property
    def functions(self) -> int:
        return len(next(iter(self.errors.values())))

    def write(self, directory: Path) -> None:
        """Keep them in a run's directory. Raises `OSError`."""
        about = {
            "schema": SCHEMA,
            "references": list(self.errors),
            "versions": dict(self.versions),
            "functions": self.functions,
            "seed": self.seed,
            "fingerprint": self.fingerprint,
        }
        file = io.BytesIO()
        arrays = {**self.errors, _ABOUT: np.array(json.dumps(about))}
        np.savez(file, allow_pickle=False, **arrays)
        write(directory / NAME, file.getvalue())


def read_errors(directory: Path) -> ErrorsFile:
    """The errors that a run's directory keeps."""
    path = directory / NAME
    again = f"`pio evaluate {directory}` measures them"
    if not path.is_file():
        raise PioError(f"run {directory} has no errors yet (no {NAME}); {again}.")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise PioError(f"{path} cannot be read: {error}; {again} again.") from error
    if _ABOUT not in arrays:
        raise PioError(
            f"{path} does not say which test functions its errors belong to; {again} again."
        )
    try:
        about = json.loads(str(arrays[_ABOUT]))
        if about["schema"] > SCHEMA:
            raise PioError(
                f"{path} was made by a later version of pio; upgrade with "
                "`pip install -U pio-operators`."
            )
        errors = {str(name): np.asarray(arrays[name], float) for name in about["references"]}
        found = ErrorsFile(
            errors, int(about["seed"]), str(about["fingerprint"]), dict(about["versions"])
        )
        if {e.shape for e in errors.values()} != {(about["functions"],)}:
            raise ValueError("the errors have another number than it says")
    except (KeyError, TypeError, ValueError) as error:
        raise PioError(f"{path} is damaged: {error}; {again} again.") from error
    return found


def fingerprint(u: np.ndarray, points: Mapping[str, np.ndarray]) -> str:
    """A digest of test functions and their grid, the same on every machine.

    Functions are drawn with arithmetic that rounds differently from one processor to the next, so values are
    compared to three digits of the largest: that tells other functions, and no other rounding.
    """
    digest = hashlib.sha256()
    for name, array in [("u", u), *sorted(points.items())]:
        largest = float(np.abs(array).max(initial=0.0)) or 1.0
        scale = 2.0 ** (10 - np.ceil(np.log2(largest)))
        digest.update(f"{name} {array.shape} {scale}".encode())
        digest.update(np.rint(scale * array).astype("<i8").tobytes())
    return digest.hexdigest()
