"""Runs become variants, variants a comparison; what does not fit is refused in a sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pio
from pio._errors_file import ErrorsFile

BASE = np.linspace(0.01, 0.02, 30)


def refused(words, *runs, **options):
    with pytest.raises(pio.PioError, match=words) as caught:
        pio.compare(runs, **options)
    return str(caught.value)


# ---------------------------------------------------------------------------------------------
# Variants


def test_runs_that_differ_only_in_the_seed_are_one_variant(forged):
    runs = [forged("tl", seed, (1 + seed) * BASE) for seed in (0, 2)]
    found = pio.compare([*runs, forged("modified", 0, BASE)])
    tl, modified = found.variants
    assert (tl.label, tl.seeds, modified.label) == ("tl", (0, 2), "modified")
    assert found.baseline is modified
    np.testing.assert_allclose(tl.averaged, 2 * BASE)
    assert found.statistics["tl"].median_difference == pytest.approx(np.median(BASE))


def test_means_deviations_spreads_and_quartiles_are_what_they_say(forged):
    one, two = np.array([1.0, 2, 3, 6]) / 100, np.array([2.0, 2, 4, 8]) / 100
    runs = [forged("tl", 0, one, seconds=90.0), forged("tl", 1, two, seconds=110.0)]
    tl, modified = pio.compare([*runs, forged("modified", 0, one, seconds=400.0)]).variants
    assert tl.mean == pytest.approx(0.035)
    assert tl.std == pytest.approx((one.std() + two.std()) / 2)
    assert tl.spread == pytest.approx(np.std([0.03, 0.04], ddof=1))
    assert tl.quartiles == pytest.approx((0.02, 0.025, 0.045))
    assert tl.seconds_per_step == pytest.approx(0.1)
    assert modified.spread is None


def test_time_is_relative_to_the_baseline(forged):
    runs = [forged("tl", 0, BASE / 2, seconds=50.0), forged("modified", 0, BASE, seconds=100.0)]
    found = pio.compare(runs)
    tl, modified = found.variants
    assert found.ratio(tl) == 0.5
    assert found.ratio(modified) == 1.0
    # Its error falls to half the baseline's at 50 s, in twenty steps from four times that: it has the
    # baseline's, 1 + 3 (1 − k/20) ≤ 2, at k = 14.
    assert found.reaches(tl) == pytest.approx(50 * 14 / 20)
    assert pio.compare(runs, "tl").reaches(modified) is None


def test_the_typical_run_is_the_median_seed(forged):
    for seed, size in enumerate((3.0, 1.0, 2.0)):
        forged("tl", seed, size * BASE)
    modified = forged("modified", 0, BASE)
    found = pio.compare([*(modified.parent / f"tl-{k}" for k in range(3)), modified])
    assert found.variants[0].typical.config.train.seed == 2


def test_labels_say_what_tells_variants_apart(forged):
    runs = [
        forged("tl", 0, path="a"),
        forged("tl", 0, settings={"arch.width": 32}, path="b"),
        forged("modified", 0, settings={"optimizer.name": "adamw"}, path="c"),
        forged("modified", 0, path="d"),
        forged("bx", 0, path="e"),
    ]
    found = pio.compare(runs, runs[3])
    assert [v.label for v in found.variants] == [
        "tl (width 16)",
        "tl (width 32)",
        "modified (optimizer adamw)",
        "bx",
        "modified (optimizer soap)",
    ]


def test_what_does_not_change_learning_does_not_tell_variants_apart(forged):
    settings = {"run.checkpoint_seconds": 7, "train.evaluations": 5, "train.test_functions": 9}
    runs = [forged("tl", 0), forged("tl", 1, settings=settings), forged("modified", 0)]
    assert [len(v.runs) for v in pio.compare(runs).variants] == [2, 1]


def test_a_directory_of_runs_stands_for_all_of_them(forged):
    for seed in (0, 1):
        forged("tl", seed, path=f"tl/{seed}")
    home = forged("modified", 0).parent
    found = pio.compare([home / "tl", home / "modified-0", home / "modified-0"])
    assert [v.seeds for v in found.variants] == [(0, 1), (0,)]


def test_runs_may_be_opened_already(forged):
    runs = [pio.load_run(forged("tl")), pio.load_run(forged("modified"))]
    assert pio.compare(runs, runs[0]).baseline.label == "tl"


# ---------------------------------------------------------------------------------------------
# The baseline, the reference, published numbers, notes


def test_the_baseline_is_an_architecture_a_label_or_a_run(forged, tmp_path):
    tl, modified = forged("tl", path="runs/tl/0"), forged("modified")
    for name in ("tl", tl, str(tl), tl.parent):
        assert pio.compare([tl, modified], name).baseline.label == "tl"
    assert pio.compare([tl, modified]).baseline.label == "modified"


def test_a_baseline_that_is_a_run_need_not_be_among_the_others(forged):
    tl, modified = forged("tl"), forged("modified", path="base/0")
    for baseline in (modified, modified.parent, pio.load_run(modified)):
        found = pio.compare([tl], baseline)
        assert [v.label for v in found.variants] == ["tl", "modified"]


def test_of_a_directory_that_holds_a_given_run_no_more_is_taken(forged):
    runs = [forged("tl"), *(forged("modified", seed, path=f"base/{seed}") for seed in (0, 1))]
    assert pio.compare(runs[:2], runs[1].parent).baseline.seeds == (0,)


def test_a_baseline_that_is_not_there_is_refused(forged):
    runs = [forged("tl"), forged("bxtg")]
    assert "there is bxtg, tl" in refused("none of the runs is of the usual baseline", *runs)
    assert "did you mean 'bxtg'?" in refused(
        "'bxtgg' is not among the runs", *runs, baseline="bxtgg"
    )


def test_a_baseline_that_could_be_several_is_refused(forged):
    runs = [forged("modified"), forged("modified", settings={"arch.width": 9}, path="other")]
    refused(r"could be any of 'modified \(width 16\)', 'modified \(width 9\)'", *runs)


def test_published_numbers_and_notes_are_passed_on(forged):
    found = pio.compare(
        [forged("tl"), forged("modified")],
        published={"tl": pio.Published(mean=0.0019), "kdv": pio.Published(0.5)},
        source="someone (2025)",
        notes=["Scaled down."],
        title="a title",
    )
    assert found.variants[0].published == pio.Published(0.0019)
    assert found.variants[1].published is None
    assert (found.source, found.title, found.notes[0]) == (
        "someone (2025)",
        "a title",
        "Scaled down.",
    )
    assert found.as_dicts()[0]["published"]["mean"] == 0.0019


def test_a_title_names_options_that_are_not_the_usual(forged):
    runs = [
        forged(a, equation="burgers", settings={"equation.nu": 1e-3}) for a in ("tl", "modified")
    ]
    assert pio.compare(runs).title == "burgers, nu = 0.001"


def test_what_a_reader_should_know_is_noted(forged, tmp_path):
    one = pio.compare([forged("tl"), forged("modified")])
    assert "trained with one seed" in " ".join(one.notes)
    slow = forged("tl", 1, settings={"optimizer.learning_rate": 0.5}, path="slow")
    config = (slow / "config.toml").read_text().replace("steps = 1000", "steps = 2000")
    (slow / "config.toml").write_text(config)
    (slow / "environment.json").write_text(json.dumps({"platform": "another machine"}))
    several = [tmp_path / "tl-0", forged("tl", 1), tmp_path / "modified-0", slow]
    notes = " ".join(pio.compare(several).notes)
    assert "The number of seeds differs" in notes
    assert "The number of steps differs" in notes
    assert "different machines" in notes


def test_seeds_that_overlap_are_noted(forged):
    runs = [forged("tl", s, (1.05 + 0.3 * s) * BASE) for s in (0, 1)]
    runs += [forged("modified", s, (1 + 0.2 * s) * BASE) for s in (0, 1)]
    found = pio.compare(runs, margin=1e-6)
    assert found.verdicts["tl"].kind == "worse"
    assert any("overlap with those of modified: tl." in note for note in found.notes)


def test_another_reference_may_be_asked_for(forged):
    runs = []
    for arch, size in (("tl", 2.0), ("modified", 1.0)):
        runs.append(forged(arch, equation="advection", reference="exact"))
        both = {"exact": BASE, "box": size * BASE}
        ErrorsFile(both, 0, "same", {"exact": 1, "box": 1}).write(runs[-1])
    assert pio.compare(runs).reference == "exact"
    box = pio.compare(runs, reference="box")
    assert (box.reference, box.variants[0].mean) == ("box", pytest.approx(0.03))
    assert "box" in refused("no reference 'boxx'; did you mean 'box'", *runs, reference="boxx")


def test_errors_on_the_way_are_said_to_be_others_where_they_are(forged):
    runs = [forged(arch, settings={"train.test_functions": 30}) for arch in ("tl", "modified")]
    assert "course of training" not in " ".join(pio.compare(runs).notes)
    for run in runs:
        ErrorsFile({"fine": BASE, "published": BASE}, 0, "same", {}).write(run)
    (note,) = [n for n in pio.compare(runs, reference="published").notes if "course of" in n]
    assert "against 'fine' on the 30 test functions of training, not against 'published'" in note
    for run in runs:
        ErrorsFile({"fine": BASE}, 7, "same", {}).write(run)
    assert "on the 30 of seed 7" in " ".join(pio.compare(runs).notes)


def test_the_baseline_has_its_error_at_its_end(forged):
    tl, modified = forged("tl"), forged("modified")
    lines = [{"seconds": t, "error": e} for t, e in ((10, 0.01), (20, 0.03), (100, 0.02))]
    (modified / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = pio.compare([tl, modified])
    assert found.reaches(found.baseline) == 100.0


def test_few_seeds_are_told_in_the_verdict_and_the_notes(forged):
    def compared(count):
        runs = [
            forged(a, s, e * BASE, path=f"{count}/{a}{s}")
            for a, e in (("tl", 0.5), ("modified", 1.0))
            for s in range(count)
        ]
        return pio.compare(runs)

    few, enough = compared(4), compared(5)
    assert few.verdicts["tl"].words.startswith("Of these networks, tl is better")
    assert "fewer than 5 seeds" in " ".join(few.notes)
    assert enough.verdicts["tl"].words.startswith("tl is better")
    assert "fewer than" not in " ".join(enough.notes)


# ---------------------------------------------------------------------------------------------
# What cannot be compared


def test_different_equations_are_refused_naming_both(forged):
    said = refused("only runs of one equation", forged("tl"), forged("modified", equation="kdv"))
    assert "solves 'diffusion-reaction' and run" in said
    assert "'kdv'" in said


def test_different_options_are_refused_naming_both(forged):
    runs = [
        forged(arch, equation="burgers", settings={"equation.nu": nu})
        for arch, nu in (("tf", 1e-2), ("modified", 1e-3))
    ]
    said = refused("only runs of one equation", *runs)
    assert "nu=0.01" in said
    assert "nu=0.001" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"test_seed": 1}, "on 30 of seed 1; `pio evaluate .* --functions 30 --seed 0`"),
        ({"errors": BASE[:9]}, "measured on 30 test functions of seed 0, run .* on 9"),
        ({"fingerprint": "other"}, "different test functions, though both"),
        ({"version": 2}, "different versions of the solver 'fine'"),
        ({"state": "interrupted"}, "has not ended .it is interrupted at step 1000.*pio resume"),
        (
            {"reference": "published"},
            "errors against published only, not against fine.*pio evaluate",
        ),
        ({"errors": np.r_[BASE[:29], np.nan]}, "'modified' are no finite numbers on 1 of 30"),
        ({"errors": np.r_[BASE[:29], 0.0]}, "baseline 'modified' has error 0 .*--margin"),
        ({"seconds": 0.0}, "does not say how long it took"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(forged, change, words):
    refused(words, forged("tl"), forged("modified", **change))


@pytest.mark.parametrize("text", ["[1]", "{}", '{"state": "failed", "step": 3}', '{"state": 1}'])
def test_a_status_that_says_little_is_no_end(forged, text):
    tl, modified = forged("tl"), forged("modified")
    (modified / "status.json").write_text(text)
    refused(
        f"run {modified} has not ended .it is (damaged|failed).; continue it with", tl, modified
    )


def test_what_is_kept_beside_a_run_may_be_damaged(forged, tmp_path):
    tl, modified = forged("tl"), forged("modified")
    (tl / "environment.json").write_text('{"devices": null, "plugins": [1], "packages": 3}')
    (tl / "metrics.jsonl").write_text(
        '{"error": 0.1}\n{"error": "x", "seconds": 1}\n{"error": 0.2, "seconds": 3.0}\n'
    )
    found = pio.compare([tl, modified], tl)
    assert found.baseline.curve.seconds.tolist() == [3.0]
    assert pio.write_up(found, tmp_path / "out").exists()


def test_missing_errors_are_said_with_what_to_do(forged):
    tl, modified = forged("tl"), forged("modified")
    (modified / "errors.npz").unlink()
    assert f"`pio evaluate {modified}`" in refused("has no errors yet", tl, modified)


def test_one_run_or_one_variant_is_no_comparison(forged):
    tl = forged("tl")
    refused("two runs at least .got 0", *[])
    refused("two runs at least .got 1", tl, tl)
    refused("the 2 runs are all 'tl' and differ only in the seed", tl, forged("tl", 1))


def test_one_run_twice_is_refused(forged):
    runs = [forged("tl"), forged("tl", path="copy"), forged("modified")]
    refused("same config and seed 0.*give one of them", *runs)


def test_what_is_no_run_is_said(forged, tmp_path):
    refused("there is no run in", forged("tl"), tmp_path / "nowhere")


def test_a_level_lies_between_0_and_1(forged):
    refused("between 0 and 1", forged("tl"), forged("modified"), level=5.0)
