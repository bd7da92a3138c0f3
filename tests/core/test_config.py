"""A config is what flags, settings, a file and a preset make together."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import pio
from pio._config import SCHEMA, presets

REGISTRY = pio.discover()
KDV = {"equation.name": "kdv", "arch.name": "bxtg", "preset": "smoke"}


def resolved(**given: Any) -> pio.Config:
    return pio.resolve(REGISTRY, **{"flags": KDV, **given})


@pytest.mark.parametrize("equation", REGISTRY.of("equation"))
def test_a_resolved_config_is_a_valid_config(equation: str) -> None:
    for preset in presets(REGISTRY.make("equation", equation)):
        flags = {"equation.name": equation, "arch.name": "vanilla", "preset": preset}
        config = pio.resolve(REGISTRY, flags=flags)
        assert pio.resolve(REGISTRY, config=tomllib.loads(config.toml())) == config


def test_flags_go_before_settings_before_the_file_before_the_preset() -> None:
    file = {"train": {"steps": 1, "seed": 1, "test_functions": 1}}
    settings = {"train.steps": "2", "seed": "2"}
    train = resolved(config=file, settings=settings, flags={**KDV, "train.steps": 3}).train
    assert (train.steps, train.seed, train.test_functions) == (3, 2, 1)
    assert train.constraints == "hard"


def test_options_stay_with_the_plugin_they_were_given_for() -> None:
    file = {"optimizer": {"name": "soap", "learning_rate": 0.5}}
    assert resolved(config=file).optimizer.options["learning_rate"] == 0.5
    other = resolved(config=file, flags={**KDV, "optimizer.name": "adamw"}).optimizer
    assert other.options["learning_rate"] != 0.5
    settings = {"optimizer.learning_rate": "0.25"}
    chosen = resolved(settings=settings, flags={**KDV, "optimizer.name": "adamw"}).optimizer
    assert chosen.options["learning_rate"] == 0.25


def test_a_width_goes_along_to_another_architecture() -> None:
    file = {"arch": {"name": "tl", "width": 7}}
    arch = resolved(config=file).arch
    assert (arch.name, arch.options["width"], arch.options["depth"]) == ("bxtg", 7, 2)


def test_presets_follow_the_options_of_the_equation() -> None:
    flags = {"equation.name": "burgers", "arch.name": "tf"}
    orders = {
        pio.resolve(REGISTRY, flags=flags, settings={"equation.nu": nu}).embedding.options["order"]
        for nu in ("1e-2", "1e-4")
    }
    assert len(orders) == 2


def test_sampling_of_another_kind_starts_empty() -> None:
    settings = {
        "sampling.kind": "tables",
        "sampling.batch": "16",
        "sampling.residual.x": "4",
        "sampling.residual.t": "3",
    }
    wanted = pio.Tables(batch=16, residual={"x": 4, "t": 3})
    assert resolved(settings=settings).sampling == wanted


def test_an_equation_without_presets_has_plain_ones(
    write: Callable[[str, str], Path], heat: str
) -> None:
    registry = pio.discover([write("heat.py", heat)])
    config = pio.resolve(registry, flags={"equation.name": "heat", "arch.name": "tl"})
    assert config.train.constraints == "soft"
    assert config.embedding.name == "none"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "equation": ({"flags": {**KDV, "equation.name": "kdw"}}, "did you mean 'kdv'"),
    "no architecture": ({"flags": {"equation.name": "kdv"}}, "name an architecture with --arch"),
    "preset": ({"flags": {**KDV, "preset": "smok"}}, "did you mean 'smoke'"),
    "option": ({"settings": {"arch.widht": "3"}}, "did you mean 'width'"),
    "option in a file": ({"config": {"arch": {"widht": 3}}}, "did you mean 'width'"),
    "bare key": ({"settings": {"stesp": "3"}}, "did you mean 'steps'"),
    "section": ({"config": {"trian": {"steps": 3}}}, "did you mean 'train'"),
    "no section": ({"config": {"train": 3}}, "is a section of options"),
    "type": ({"settings": {"steps": "many"}}, "is of type int"),
    "too few": ({"settings": {"steps": "0"}}, "at least 1"),
    "entry": ({"settings": {"sampling.points.y": "3"}}, "no entry 'y'"),
    "entry's type": ({"settings": {"sampling.points.x": "few"}}, "whole number"),
    "kind": ({"settings": {"sampling.kind": "table"}}, "did you mean 'tables'"),
    "schema": ({"config": {"schema": SCHEMA + 1}}, "Upgrade"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_named(case: str) -> None:
    given, message = WRONG[case]
    with pytest.raises(pio.PioError) as error:
        resolved(**given)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pio.Blocks(0, {"x": 4}), r"sampling\.functions is at least 1 \(got 0\)"),
        (lambda: pio.Blocks(4, {"x": 4, "t": -1}), r"sampling\.points\.t is at least 1"),
        (lambda: pio.Tables(-1, 4), r"sampling\.batch is at least 1"),
        (lambda: pio.Tables(4, {"x": 0}), r"sampling\.residual\.x is at least 1"),
        (lambda: pio.Tables(4, 4, {"initial": 0}), r"sampling\.conditions\.initial is at least 1"),
    ],
)
def test_a_batch_has_something_in_it(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(pio.PioError, match=message):
        make()


@pytest.mark.parametrize("text", [None, "equation = 'kdv", "\x00"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "run.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(pio.PioError, match=r"run\.toml"):
        resolved(config=path)


class Plain:
    """What presets depend on."""

    domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))


class Terse(Plain):
    """An equation whose preset says one thing."""

    presets: ClassVar[Any] = {"fast": pio.Recipe(embedding=pio.Choice("cosine", {"order": 7}))}


def test_a_recipe_that_says_one_thing_is_otherwise_the_plain_one():
    plain, terse = presets(Plain()), presets(Terse())
    assert set(plain) == set(terse) == {"fast", "smoke"}
    assert plain["fast"].embedding == ("none", {})
    assert plain["fast"].sampling == pio.Blocks(16, {"x": 16, "t": 16})
    for name, recipe in terse.items():
        assert recipe.embedding == ("cosine", {"order": 7})
        assert dataclasses.replace(recipe, embedding=plain[name].embedding) == plain[name]


def test_constraints_are_hard_where_there_is_an_ansatz_unless_told():
    class Ansatz(Plain):
        def ansatz(self, n, t):
            return t * n

    class Soft(Ansatz):
        presets: ClassVar[Any] = {"mine": pio.Recipe(constraints="soft")}

    found = [
        presets(made())[name]
        for made, name in ((Plain, "fast"), (Ansatz, "fast"), (Soft, "mine"), (Soft, "smoke"))
    ]
    assert [recipe.constraints for recipe in found] == ["soft", "hard", "soft", "soft"]


def test_a_preset_that_is_no_recipe_is_refused():
    class Odd(Plain):
        presets: ClassVar[Any] = {"fast": {"steps": 3}}

    with pytest.raises(pio.PioError, match=r"preset 'fast' of Odd is a pio.Recipe \(got"):
        presets(Odd())
