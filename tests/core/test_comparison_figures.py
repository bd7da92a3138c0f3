"""Figures of a comparison show it, in colours for all eyes, and their words do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pio
from pio._comparison_figures import looks, pictures, progress, times, violins
from pio._figures import COLOURS, INK

ARCHS = ("vanilla", "bx", "tl", "bxtl", "bxtg", "tg", "tn", "bxtn", "modified")
RNG = np.random.default_rng(0)


def published(k):
    return pio.Published(0.01 + 0.001 * k, 0.002, 0.008, 0.009, 0.012, 0.01 + 0.001 * k)


@pytest.fixture
def crowd(forged):
    """Nine variants of two seeds, close to each other, one with a long name."""
    runs = [
        forged(arch, seed, RNG.lognormal(-4.5 - 0.05 * k, 0.4, 60), seconds=3000.0 + 200 * k)
        for k, arch in enumerate(ARCHS)
        for seed in (0, 1)
    ]
    settings = {"arch.width": 24, "optimizer.name": "adamw", "train.precision": 64}
    runs.append(forged("bx", 0, RNG.lognormal(-4.2, 0.4, 60), settings=settings, path="long"))
    return pio.compare(runs, published={a: published(k) for k, a in enumerate(ARCHS)})


@pytest.fixture
def pair(forged):
    runs = [forged("tl", path="one"), forged("modified", seconds=80.0, path="other")]
    return pio.compare(runs)


def test_words_do_not_overlap(crowd, pair, boxes):
    for draw in (times, progress, violins):
        for comparison in (crowd, pair):
            places = boxes(draw(comparison))
            assert len(places) > 8
            assert not any(a.overlaps(b) for a, b in itertools.combinations(places, 2)), draw


def test_words_stay_within_the_figure_however_many_variants_there_are(forged, boxes):
    runs = [forged("tl", settings={"arch.width": 8 * k}, path=str(k)) for k in range(1, 13)]
    found = pio.compare([*runs, forged("modified")])
    for draw in (times, progress, violins):
        figure = draw(found)
        for place in boxes(figure):
            assert 0 <= place.x0 <= place.x1 <= figure.bbox.width
            assert 0 <= place.y0 <= place.y1 <= figure.bbox.height


def test_a_legend_is_below_the_axes_and_not_beside_them(crowd, boxes):
    for draw in (times, progress):
        figure = draw(crowd)
        boxes(figure)  # draws it
        (legend,) = figure.legends
        assert legend.get_window_extent().y1 < figure.axes[0].bbox.y0


def test_lines_differ_without_colour(crowd):
    found = looks(crowd)
    assert len({(v["marker"], str(v["linestyle"])) for v in found.values()}) == len(crowd.variants)
    lines = [line for line in progress(crowd).axes[0].lines if len(line.get_xdata()) > 2]
    strong = {(line.get_marker(), str(line.get_linestyle())) for line in lines if line.get_lw() > 1}
    assert len(strong) == len(crowd.variants)


def test_an_axis_has_room_for_what_was_published(forged):
    runs = [forged(arch, 0, np.full(9, 0.01)) for arch in ("tl", "modified")]
    theirs = {a: pio.Published(0.0002, seconds=0.01) for a in ("tl", "modified")}
    assert times(pio.compare(runs)).axes[0].get_yscale() == "linear"
    assert times(pio.compare(runs, published=theirs)).axes[0].get_yscale() == "log"


def test_the_axis_says_what_errors_on_the_way_are_against(forged):
    runs = [forged(arch, reference="published") for arch in ("tl", "modified")]
    found = pio.compare(runs, reference="published")
    assert "against fine" in progress(found).axes[0].get_ylabel().replace("\n", " ")
    assert "against published" in times(found).axes[0].get_ylabel().replace("\n", " ")


def test_each_variant_looks_different(crowd):
    found = looks(crowd)
    assert found["modified"]["color"] == INK
    assert len({(v["color"], v["marker"]) for v in found.values()}) == len(crowd.variants)
    assert len({(v["color"], str(v["linestyle"])) for v in found.values()}) == len(crowd.variants)
    assert {v["color"] for v in found.values()} <= {*COLOURS, INK}


def test_a_point_is_where_its_numbers_are(pair):
    panel = times(pair).axes[0]
    place = {
        tuple(map(float, line.get_xydata()[0])) for line in panel.lines if line.get_marker() == "o"
    }
    assert (1.25, pair.variants[0].mean) in place


def test_published_points_are_hollow(crowd):
    hollow = [line for line in times(crowd).axes[0].lines if line.get_markerfacecolor() == "none"]
    assert len([line for line in hollow if len(line.get_xdata())]) == len(ARCHS) + 1


def test_the_time_to_the_baselines_error_is_marked(forged):
    runs = [forged("tl", 0, np.full(9, 0.01)), forged("modified", 0, np.full(9, 0.02))]
    found = pio.compare([*runs, forged("bx", 0, np.full(9, 0.03))])
    figure = progress(found)
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    (marked,) = [line for line in marks if len(line.get_xdata()) == 1]
    assert float(marked.get_xdata()[0]) == found.reaches(found.variants[0]) == 70.0
    legend = [
        text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in figure.legends[0].get_texts()
    ]
    assert legend == ["tl: 70 s (1.4× sooner)", "bx: not within 1 min 40 s", "modified: 1 min 40 s"]


def test_a_violin_has_its_quartiles_and_median(pair):
    panel = violins(pair).axes[0]
    q1, median, q3 = pair.variants[0].quartiles
    bars = [
        tuple(map(float, line.get_xdata())) for line in panel.lines if len(line.get_xdata()) == 2
    ]
    assert (q1, q3) in bars
    dots = [float(line.get_xdata()[0]) for line in panel.lines if len(line.get_xdata()) == 1]
    assert median in dots


def test_errors_without_spread_or_curves_are_drawn_too(forged):
    runs = [forged("tl", 0, np.full(9, 0.01)), forged("modified", 0, np.full(9, 0.02))]
    for run in runs:
        (run / "metrics.jsonl").unlink()
    found = pio.compare(runs)
    assert not violins(found).axes[0].collections
    assert found.reaches(found.variants[0]) is None
    labels = [t.get_text() for t in progress(found).legends[0].get_texts()]
    assert labels == ["tl: not measured on the way", "modified: not measured on the way"]


def test_pictures_are_left_out_where_the_test_functions_are_others(pair):
    assert pictures(pair) is None
