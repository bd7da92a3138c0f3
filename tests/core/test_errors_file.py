"""`errors.npz` says which test functions its errors belong to, and is read without pickle."""

from __future__ import annotations

import numpy as np
import pytest

import pio
from pio._errors_file import ErrorsFile, fingerprint, read_errors

U = np.random.default_rng(0).normal(size=(5, 30))
GRID = {"x": np.linspace(0, 1, 11), "t": np.linspace(0, 2, 7)}


def kept(**changes):
    found = {"exact": np.arange(1.0, 6.0), "box": np.ones(5)}
    about = {"errors": found, "seed": 3, "fingerprint": "abc", "versions": {"exact": 1, "box": 2}}
    return ErrorsFile(**{**about, **changes})


def test_what_is_written_is_read(tmp_path):
    kept().write(tmp_path)
    found = read_errors(tmp_path)
    assert list(found.errors) == ["exact", "box"]
    np.testing.assert_array_equal(found.errors["exact"], np.arange(1.0, 6.0))
    assert (found.functions, found.seed, found.fingerprint) == (5, 3, "abc")
    assert found.versions == {"exact": 1, "box": 2}


def test_errors_are_still_plain_arrays_for_others(tmp_path):
    kept().write(tmp_path)
    with np.load(tmp_path / "errors.npz", allow_pickle=False) as file:
        assert file["box"].shape == (5,)


def test_a_fingerprint_is_of_the_functions_and_not_of_their_rounding():
    assert fingerprint(U, GRID) == fingerprint(U * (1 + 1e-13), dict(reversed(GRID.items())))
    others = (U[::-1], U[:4], U + 0.01 * np.eye(5, 30))
    assert len({fingerprint(u, GRID) for u in (U, *others)}) == 4
    assert fingerprint(U, {**GRID, "x": GRID["x"] / 2}) != fingerprint(U, GRID)
    assert fingerprint(0 * U, GRID) != fingerprint(U, GRID)


def test_a_test_set_has_the_same_fingerprint_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path))
    equation = pio.discover().make("equation", "advection")
    made, again = (pio.solutions(equation, 2) for _ in range(2))
    errors = {"exact": np.ones(2)}
    first, second = (ErrorsFile.of(equation, errors, s) for s in (made, again))
    assert first.fingerprint == second.fingerprint
    other = ErrorsFile.of(equation, errors, pio.solutions(equation, 2, seed=1), 1)
    assert other.fingerprint != first.fingerprint


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "has no errors yet"),
        (lambda path: path.write_bytes(b"nonsense"), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "cannot be read"),
        (lambda path: np.savez(path, exact=np.ones(5)), "does not say which test functions"),
        (
            lambda path: np.savez(path, **{"about.json": np.array("{}"), "exact": np.ones(5)}),
            "is damaged",
        ),
        (
            lambda path: np.savez(path, **{"about.json": np.array([{}], object)}),
            "cannot be read",
        ),
        (
            lambda path: np.savez(path, **{"about.json": np.array('{"schema": 99}')}),
            "later version",
        ),
    ],
)
def test_what_is_no_such_file_is_said_with_what_to_do(tmp_path, spoil, words):
    kept().write(tmp_path)
    spoil(tmp_path / "errors.npz")
    with pytest.raises(pio.PioError, match=words) as caught:
        read_errors(tmp_path)
    assert "pio evaluate" in str(caught.value) or "upgrade" in str(caught.value)


def test_errors_that_are_fewer_than_said_are_damaged(tmp_path):
    kept(errors={"exact": np.ones(5), "box": np.ones(4)}, versions={"exact": 1, "box": 1}).write(
        tmp_path
    )
    with pytest.raises(pio.PioError, match="is damaged"):
        read_errors(tmp_path)
