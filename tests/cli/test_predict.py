"""`pio predict` takes any sensible u, refuses others in words, and lights a lamp."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pio as library

SENSORS = np.linspace(0, 1, 101)
U = 1.5 + 0.4 * np.sin(2 * np.pi * SENSORS)


@pytest.fixture
def predict(pio, advection_run, tmp_path):
    """`predict(u, "--grid", "t=1")`: the outcome, and what was written."""

    def predict(u, *options, name="u.npy"):
        source, output = tmp_path / name, tmp_path / "s.npz"
        if isinstance(u, str):
            source.write_text(u)
        elif name.endswith(".npy"):
            np.save(source, u)
        else:
            np.savetxt(source, u, delimiter=",")
        outcome = pio("predict", advection_run, "--input", source, "-o", output, *options)
        if outcome.code:
            assert not output.exists()
            return outcome, None
        with np.load(output) as found:
            return outcome, dict(found)

    return predict


def test_predictions_are_those_of_the_run(predict, advection_run):
    _, found = predict(np.stack([U, U + 1]))
    assert found["s"].shape == (2, 101, 101)
    s = library.load_run(advection_run).predict(np.stack([U, U + 1]))
    np.testing.assert_allclose(found["s"], s)
    np.testing.assert_array_equal(found["u"][1], U + 1)


def test_s_is_given_on_any_grid(predict):
    _, found = predict(U, "--grid", "x=0:1:11", "--grid", "t=0.25,1")
    assert found["s"].shape == (1, 11, 2)
    np.testing.assert_allclose(found["x"], np.linspace(0, 1, 11))
    np.testing.assert_allclose(found["t"], [0.25, 1.0])


def test_a_table_of_numbers_is_read_whatever_separates_them(predict):
    _, first = predict(U[None], name="u.csv")
    _, second = predict("\n".join(map(str, U)), name="u.txt")
    np.testing.assert_array_equal(first["s"], second["s"])


def test_values_at_other_places_are_carried_to_the_sensors(predict, tmp_path):
    places = np.linspace(0, 1, 40)
    np.save(tmp_path / "x.npy", places)
    _, found = predict(1.5 + 0.4 * np.sin(2 * np.pi * places), "--places", tmp_path / "x.npy")
    np.testing.assert_allclose(found["u"][0], U, atol=1e-4)


def test_the_light_is_dark_for_usual_functions_and_lit_for_others(predict):
    outcome, found = predict(np.stack([U, 40 * U]), "--json")
    first, second = (json.loads(line) for line in outcome.out.splitlines())
    assert (first["warning"], second["warning"]) == (False, True)
    assert second["ratio"] > 5 * first["ratio"]
    assert "1 of 2 predictions" in outcome.err
    assert found["residual"] == pytest.approx([first["residual"], second["residual"]])


def test_as_a_table(predict):
    outcome, _ = predict(np.stack([U] * 30))
    assert outcome.err == ""
    for part in ("30×101×101", "as usual", "and 10 more"):
        assert part in outcome.out


@pytest.mark.parametrize(
    ("u", "options", "message"),
    [
        (U[:50], (), "101 sensors"),
        (np.where(SENSORS > 0.9, np.nan, U), (), "not finite"),
        (U - 1.5, (), "velocity u > 0"),
        (np.array(["a"] * 101), (), "array of real numbers"),
        (U, ("--grid", "z=1"), "a name among x, t"),
        (U, ("--grid", "x=0:1"), "0:1:201"),
        (U, ("--grid", "t=0,2"), "stay inside"),
        (U, ("--grid", "t=1,0.5"), "increasing"),
        (U, ("--grid", "t=0:inf:3"), "0:1:201"),
        (U, ("--grid", "x=0:1:0"), "0:1:201"),
        (U, ("--grid", "x=0:1:10000000000000"), "268435456 points at most"),
        (U, ("--grid", "x=0:1:100000", "--grid", "t=0:1:100000"), "1 functions × 100000 × 100000"),
        (U + 1j, (), "array of real numbers"),
        (1e300 * U, (), "in the units of the equation"),
    ],
)
def test_wrong_inputs_are_explained(predict, u, options, message):
    (code, out, err), _ = predict(u, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("u.csv", "1,2,three", "line 1 has what is no number, which may be a header"),
        ("u.csv", "x,u\n1,2", "line 1 has what is no number, which may be a header: remove"),
        ("u.csv", "1,2\n1,two", "line 2 has what is no number (could"),
        ("u.csv", "1,2\n\n1,2,3", "line 3 has 3 numbers, and those before it 2"),
        ("u.npy", "no array", "a .npy file"),
        ("u.csv", "", "it is empty"),
    ],
)
def test_unreadable_files_are_explained(predict, name, text, message):
    (code, _, err), _ = predict(text, name=name)
    assert code == 2
    assert "Traceback" not in err
    assert name in err
    assert message in err


def test_a_table_from_excel_is_read(predict):
    _, found = predict("\ufeff" + ";".join(map(str, U)), name="u.csv")
    np.testing.assert_array_equal(found["u"][0], U)


def test_nothing_is_ever_unpickled(predict):
    (code, _, err), _ = predict(np.array([{"a": 1}], dtype=object))
    assert code == 2
    assert "cannot read" in err


def test_the_output_is_npz_where_one_can_write(pio, advection_run, tmp_path):
    np.save(tmp_path / "u.npy", U)
    base = ("predict", advection_run, "--input", tmp_path / "u.npy", "-o")
    assert "written as .npz" in pio(*base, tmp_path / "s.csv").err
    assert "cannot write" in pio(*base, tmp_path / "u.npy" / "s.npz").err


def test_a_full_disk_exits_with_1(advection_run, tmp_path, limited):
    np.save(tmp_path / "u.npy", U)
    output = tmp_path / "s.npz"
    found = limited("predict", advection_run, "--input", tmp_path / "u.npy", "-o", output)
    assert found.code == 1
    assert f"cannot write {output}: File too large; make room." in found.err
    assert not output.exists()


def test_what_is_not_finite_is_null_in_json(predict):
    outcome, _ = predict(1e38 * U, "--json")

    def refuse(name):
        raise AssertionError(name)

    row = json.loads(outcome.out, parse_constant=refuse)
    assert row["warning"] is True
