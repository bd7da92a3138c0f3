"""Figures show what they are given, and their words do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pio
from pio._figures import curves, distribution, drawable, panels, save

RECORDS = [
    {
        "step": 50 * k,
        "loss": 3.0 / k,
        "squares": {"residual": 1.0 / k, "initial": 0.5 / k},
        **({"error": 0.5 / k, "median": 0.3 / k} if k % 5 == 0 else {}),
    }
    for k in range(1, 21)
]


@pytest.fixture(scope="module")
def advection():
    return pio.discover().make("equation", "advection")


def drawn_panels(advection, functions=3, names=()):
    u = np.ones((functions, 101)) + np.linspace(0, 1, 101)
    truth = np.random.default_rng(0).normal(size=(functions, 9, 5))
    points = {"x": np.linspace(0, 1, 9), "t": np.linspace(0, 1, 5)}
    errors = np.linspace(0.01, 1.9, functions)
    worse = np.linspace(0.99, 0.5, functions)[:, None, None] * truth
    return panels(advection, u, truth, worse, points, errors, "advection bxtg: some title", names)


def test_curves_have_a_line_per_term_and_the_errors():
    left, right = curves(RECORDS, "advection bxtg").axes
    assert [line.get_label() for line in left.lines] == ["residual", "initial", "weighted loss"]
    assert [line.get_label() for line in right.lines] == ["mean", "median"]
    np.testing.assert_allclose(right.lines[0].get_ydata(), [0.1, 0.05, 1 / 30, 0.025])


def test_curves_of_a_run_that_was_never_measured_or_not_finite():
    records = [
        {"step": k, "loss": np.nan, "squares": {"residual": v}} for k, v in enumerate((1, np.inf))
    ]
    left, right = curves(records).axes
    assert list(left.lines[0].get_ydata()) == [1]
    assert not right.lines
    with pytest.raises(pio.PioError, match="no records"):
        curves([])


def test_words_of_a_figure_do_not_overlap(advection, boxes):
    errors = {"exact": np.geomspace(0.004, 0.2, 50), "box": np.geomspace(0.01, 0.2, 50)}
    for figure in (
        curves(RECORDS, "title"),
        distribution(errors, "title"),
        drawn_panels(advection),
    ):
        places = boxes(figure)
        assert len(places) > 10
        assert not any(a.overlaps(b) for a, b in itertools.combinations(places, 2))


def test_panels_have_a_row_a_function(advection):
    figure = drawn_panels(advection, 2)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["input", "reference", "prediction", "prediction − reference"]


def test_differences_of_several_models_have_one_scale(advection):
    def scales(figure):
        maps = [axes.collections[0] for axes in figure.axes if axes.collections]
        return {m.get_clim() for m in maps if m.get_cmap().name == "PuOr_r"}

    assert len(scales(drawn_panels(advection, 2))) == 2
    assert len(scales(drawn_panels(advection, 2, ["tl", "modified"]))) == 1


def test_only_one_space_coordinate_and_time_is_drawn(advection):
    class Steady(type(advection)):
        domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("y"))

    assert drawable(advection)
    assert not drawable(Steady())


def test_a_figure_is_saved_whole_or_not_at_all(tmp_path):
    path = save(distribution({"exact": np.ones(3)}), tmp_path / "new" / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(pio.PioError, match="cannot draw to"):
        save(distribution({"exact": np.ones(3)}), tmp_path / "figure.nonsense")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["figure.png", "new"]
