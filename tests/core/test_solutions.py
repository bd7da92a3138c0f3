"""Test sets are made once, kept whole, and made again when damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import pio

CALLS: list[int] = []
X = pio.Coordinate("x", periodic=True)


@dataclass(frozen=True)
class Drift:
    """s = u(x − speed t): cheap enough to count how often it is solved."""

    speed: float = 1.0
    version: int = 1
    spoil: float = 0.0

    domain = pio.Domain(X, pio.Coordinate("t"))
    inputs = pio.PeriodicField(X, 17, (1.0, 0.5))
    unknowns = ("s",)
    grid: ClassVar = {"x": np.linspace(0, 1, 9), "t": np.linspace(0, 1, 5)}

    def residual(self, s_t, s_x):
        return s_t + self.speed * s_x

    def conditions(self):
        return (pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),)

    @property
    def references(self):
        solve, version = self._solve, self.version
        return {
            "exact": pio.Reference(solve, "shifted", 1.0, version=version, chunk=3),
            "again": pio.Reference(solve, "shifted", 1.0, version=version),
        }

    def _solve(self, u, points, refine):
        CALLS.append(len(u))
        shifted = [pio.read(self.inputs, u, points["x"] - self.speed * t) for t in points["t"]]
        return np.stack(shifted, -1) + self.spoil


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path))
    CALLS.clear()
    return tmp_path


def test_a_set_is_made_once_in_chunks_and_then_kept():
    first = pio.solutions(Drift(), 7)
    again = pio.solutions(Drift(), 7)
    assert (first.made, again.made, sorted(CALLS)) == (True, False, [1, 3, 3])
    np.testing.assert_array_equal(first.s["s"], again.s["s"])
    np.testing.assert_array_equal(first.u, again.u)
    assert first.s["s"].shape == (7, 9, 5)


def test_solutions_belong_to_their_functions():
    found = pio.solutions(Drift(), 5)
    np.testing.assert_allclose(found.s["s"], pio.solve(Drift(), found.u), atol=1e-14)


@pytest.mark.parametrize(
    "other",
    [
        lambda: pio.solutions(Drift(speed=2.0), 4),
        lambda: pio.solutions(Drift(version=2), 4),
        lambda: pio.solutions(Drift(), 4, seed=1),
        lambda: pio.solutions(Drift(), 5),
        lambda: pio.solutions(Drift(), 4, reference="again"),
    ],
    ids=["option", "version", "seed", "size", "reference"],
)
def test_whatever_determines_the_data_is_in_their_address(other):
    assert pio.solutions(Drift(), 4).path != other().path


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_damaged_set_is_made_again(damage):
    first = pio.solutions(Drift(), 4)
    data = bytearray(first.path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    first.path.write_bytes(
        {"cut": data[:500], "flip": data, "empty": b"", "text": b"hello"}[damage]
    )
    again = pio.solutions(Drift(), 4)
    assert again.made
    np.testing.assert_array_equal(first.s["s"], again.s["s"])
    assert not pio.solutions(Drift(), 4).made


def test_nothing_is_left_behind_when_the_solver_fails(cache):
    with pytest.raises(pio.PioError, match="no finite s for 4 of 4 functions"):
        pio.solutions(Drift(spoil=float("nan")), 4)
    assert not list(cache.rglob("*.npz"))


def test_progress_reaches_the_end():
    seen = []
    pio.solutions(Drift(), 7, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 7), (6, 7), (7, 7)]


def test_where_nothing_can_be_kept_a_set_is_made_once_with_a_warning(cache, monkeypatch):
    (cache / "file").write_text("")
    monkeypatch.setenv("PIO_CACHE_DIR", str(cache / "file"))
    with pytest.warns(UserWarning, match="set PIO_CACHE_DIR"):
        found = pio.solutions(Drift(speed=3.0), 2)
    again = pio.solutions(Drift(speed=3.0), 2)
    assert (found.path, found.made, again.made, CALLS) == (None, True, False, [2])
    np.testing.assert_array_equal(found.s["s"], again.s["s"])


def test_two_processes_make_one_set_once(cache):
    code = (
        "import pio; e = pio.discover().make('equation', 'burgers', {'nu': 1e-3});"
        "print(pio.solutions(e, 24).made)"
    )
    run = [sys.executable, "-c", code]
    processes = [
        subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(2)
    ]
    assert sorted(p.communicate()[0].strip() for p in processes) == ["False", "True"]
    assert len(list(cache.rglob("*.npz"))) == 1
