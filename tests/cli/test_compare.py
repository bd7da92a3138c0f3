"""`pio compare` tells which of some really trained models is better, and refuses what it cannot compare."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from pio_cli._main import run
from pio_cli.compare import parse_margin


@pytest.fixture(scope="module")
def duel(tmp_path_factory):
    """Two architectures with two seeds each, really trained: `runs/vanilla/0` … `runs/modified/1`."""
    home = tmp_path_factory.mktemp("duel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(home / "cache"))
        for arch in ("vanilla", "modified"):
            choices = ("--equation", "advection", "--arch", arch, "--preset", "smoke")
            sizes = ("--set", "arch.width=8", "--set", "arch.depth=1", "--set", "test_functions=12")
            more = (
                "--optimizer",
                "adamw",
                "--steps",
                "12",
                "--seeds",
                "0:2",
                "--out",
                str(home / "runs" / arch),
            )
            assert run(["train", *choices, *sizes, *more]) == 0
    return home


@pytest.fixture
def runs(duel, tmp_path, monkeypatch):
    """A copy of these, in the directory of the test."""
    monkeypatch.setenv("PIO_CACHE_DIR", str(duel / "cache"))
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(duel / "runs", tmp_path / "runs").relative_to(tmp_path)


def lines(out):
    return [json.loads(line) for line in out.splitlines()]


def test_trained_runs_are_compared_and_written_up(pio, runs):
    code, out, err = pio("compare", runs / "vanilla", runs / "modified", "--json")
    assert (code, err) == (0, "")
    vanilla, modified = lines(out)
    assert (vanilla["variant"], vanilla["seeds"], vanilla["functions"]) == ("vanilla", [0, 1], 12)
    assert (modified["baseline"], "verdict" in modified) == (True, False)
    errors = [
        np.load(runs / a / s / "errors.npz")["exact"] for a in ("vanilla", "modified") for s in "01"
    ]
    d = (errors[0] + errors[1] - errors[2] - errors[3]) / 2
    assert vanilla["median_difference"] == pytest.approx(np.median(d))
    assert vanilla["share"] == pytest.approx(np.mean(d < 0))
    assert vanilla["verdict"] in ("better", "worse", "equivalent", "undecided")
    home = runs.parent / "comparisons" / "advection"
    assert vanilla["report"] == str(home / "report.html")
    figures = {p.stem for p in (home / "figures").iterdir()}
    assert figures == {"times", "progress", "violins", "predictions"}
    assert (home / "report.html").read_text().count("<img ") == 4


def test_as_words_and_tables(pio, runs):
    code, out, err = pio("compare", runs / "vanilla/0", runs / "modified/0", "--out", "here")
    assert (code, err) == (0, "")
    for part in (
        "advection, beside modified",
        "percentage points",
        "Median difference (%)",
        "Q3 (%)",
    ):
        assert part in out
    assert "Note: Each variant was trained with one seed." in out
    assert out.endswith("here/report.html\n")


def test_options_reach_the_tests(pio, runs):
    both = (runs / "vanilla", runs / "modified")
    for run_ in (p for home in both for p in (home / "0", home / "1")):
        assert pio("evaluate", run_, "--no-figures").code == 0
    chosen = (
        "--margin",
        "300%",
        "--reference",
        "box",
        "--ranks",
        "published",
        "--baseline",
        both[0],
    )
    code, out, _ = pio("compare", *both, *chosen, "--json")
    assert code == 0
    modified, vanilla = lines(out)
    assert (modified["margin"], modified["reference"]) == (3.0, "box")
    assert (modified["ranks"], modified["verdict"]) == ("published", "equivalent")
    assert vanilla["baseline"]


def test_a_directory_of_something_else_is_not_written_to(pio, runs):
    code, out, err = pio("compare", runs / "vanilla", runs / "modified", "--out", runs)
    assert (code, out) == (2, "")
    assert "is no comparison" in err


def spoiled(runs, how):
    """The arguments of a comparison that must fail."""
    vanilla, modified = runs / "vanilla" / "0", runs / "modified" / "0"
    status = modified / "status.json"
    if how == "missing errors":
        (modified / "errors.npz").unlink()
    if how == "unfinished":
        status.write_text(status.read_text().replace('"done"', '"interrupted"'))
    if how == "zero error":
        with np.load(modified / "errors.npz") as file:
            arrays = dict(file)
        arrays["exact"][3] = 0.0
        np.savez(modified / "errors.npz", **arrays)
    if how == "other equation":
        config = (modified / "config.toml").read_text()
        (modified / "config.toml").write_text(
            config.replace("length_scale = 0.2", "length_scale = 0.3")
        )
    if how == "other functions":
        assert run(["evaluate", str(modified), "--seed", "1", "--no-figures"]) == 0
    return {
        "one run": (vanilla,),
        "one variant": (runs / "vanilla",),
        "no run": (vanilla, runs / "nowhere"),
        "other baseline": (vanilla, modified, "--baseline", "modifed"),
        "other reference": (vanilla, modified, "--reference", "bxo"),
        "no margin": (vanilla, modified, "--margin", "wide"),
        "no ranks": (vanilla, modified, "--ranks", "mine"),
    }.get(how, (vanilla, modified))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            "missing errors",
            "has no errors yet (no errors.npz); `pio evaluate runs/modified/0` measures",
        ),
        (
            "unfinished",
            "has not ended (it is interrupted at step 12 of 12); continue it with `pio resume",
        ),
        ("zero error", "the baseline 'modified' has error 0 on test function 3"),
        ("other equation", "with length_scale=0.2 and run runs/modified/0 with length_scale=0.3"),
        (
            "other functions",
            "`pio evaluate runs/modified/0 --functions 12 --seed 0` measures it on the same",
        ),
        ("one run", "a comparison needs two runs at least (got 1)"),
        ("one variant", "the 2 runs are all 'vanilla' and differ only in the seed"),
        ("no run", "there is no run in runs/nowhere"),
        (
            "other baseline",
            "the baseline 'modifed' is not among the runs; did you mean 'modified'?",
        ),
        ("other reference", "no reference 'bxo'; did you mean 'box'"),
        ("no margin", "--margin is a positive difference of errors, such as 0.001 or 0.1%"),
        ("no ranks", "'mine' is not one of 'textbook', 'published'"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(pio, runs, capsys, how, words):
    arguments = spoiled(runs, how)
    capsys.readouterr()
    code, out, err = pio("compare", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert not (runs.parent / "comparisons").exists()


def test_no_runs_at_all_is_a_usage_error(pio):
    code, _, err = pio("compare")
    assert code == 2
    assert "RUN" in err


@pytest.mark.parametrize(("text", "value"), [("0.001", 0.001), ("0.1%", 0.001), (" 2 % ", 0.02)])
def test_a_margin_is_a_number_or_per_cent(text, value):
    assert parse_margin(text) == pytest.approx(value)
    assert parse_margin(None) is None
