"""What holds for every equation that is installed."""

from __future__ import annotations

import pytest

import pio
import pio.testing

REGISTRY = pio.discover()
NAMES = sorted(REGISTRY.of("equation"))


# One test a check: the reference solves the equation, the ansatz meets the conditions, and so on.
for _name in NAMES:
    globals()[f"test_{_name}"] = pio.testing.suite("equation", _name)


@pytest.mark.parametrize("name", NAMES)
def test_there_are_presets_for_every_purpose(name):
    assert {"paper", "fast", "smoke"} <= set(REGISTRY.make("equation", name).presets)


# The columns of the published tables: functions, steps, batch, points, width, depth.
PUBLISHED = {
    "advection": (1000, 100, 300_000, 10_000, 2500, {"initial": 101, "boundary": 101}, 100, 6),
    "diffusion-reaction": (10_000, 1000, 120_000, 10_000, 100, {"initial": 101, "left": 101, "right": 101}, 50, 4),
    "burgers": (1000, 500, 200_000, 10_000, 2500, {"initial": 101}, 100, 6),
    "kdv": (500, 100, 200_000, 16_384, {"t": 101, "x": 257}, {"initial": 257}, 128, 6),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_paper_preset_is_the_published_setting(name):
    r = REGISTRY.make("equation", name).presets["paper"]
    tables = (r.sampling.batch, r.sampling.residual, r.sampling.conditions)
    size = (r.architecture["width"], r.architecture["depth"])
    assert (r.train_functions, r.test_functions, r.steps, *tables, *size) == PUBLISHED[name]
    assert (r.precision, r.constraints, r.optimizer.name) == (64, "soft", "adamw")
    assert r.weighting.name == ("brdr" if name == "advection" else "ck")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("burgers", {"nu": 0.0}, "viscosity ν > 0 \\(got nu = 0.0\\)"),
        ("burgers", {"nu": -1e-3}, "ν > 0"),
        ("burgers", {"nu": float("nan")}, "ν > 0"),
        ("kdv", {"delta": 0.0}, "dispersion δ > 0"),
        ("diffusion-reaction", {"diffusion": -1.0}, "diffusion D > 0"),
        ("advection", {"length_scale": 0.0}, "positive length scale"),
        ("kdv", {"sensors": 3}, "take more sensors"),
    ],
)
def test_impossible_options_get_one_clear_message(name, options, message):
    with pytest.raises(pio.PioError, match=message):
        REGISTRY.make("equation", name, options)
