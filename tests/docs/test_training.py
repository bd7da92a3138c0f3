"""The page on training says what is so."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import pio
from pio._config import Data, Keep, Train
from pio_cli._main import pio as group
from pio_cli._main import run
from pio_cli.train import use_compilation_cache

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory in which the page's Python has run."""
    home = tmp_path_factory.mktemp("page")
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIO_CACHE_DIR", str(home / "cache"))
        patch.chdir(home)
        use_compilation_cache()  # the same programs are made by Python and by commands
        exec(compile(code, "docs/training.md", "exec", dont_inherit=True), {"__name__": "page"})
        yield home


def test_its_snippets_run(place: Path) -> None:
    assert pio.load_run(place / "runs" / "labelled").status["state"] == "done"


def test_its_first_commands_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    more = ["pio resume runs/first", *(c for c in COMMANDS if "--no-figures" in c or "--grid" in c)]
    for line in [*BLOCKS[0].splitlines(), *more]:
        line = line.replace("--time 2m", "--preset smoke").replace(
            "--functions 50", "--functions 2"
        )
        assert run(shlex.split(line)[1:]) == 0, line


def parsed(command: click.Command, arguments: list[str], parent: Any = None) -> click.Context:
    context = command.make_context(command.name, arguments, parent=parent)
    if isinstance(command, click.Group):
        name, inner, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert name is not None
        assert inner is not None
        return parsed(inner, rest, context)
    return context


@pytest.mark.parametrize("line", COMMANDS)
def test_its_commands_are_commands(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    first, *arguments = shlex.split(line)
    assert first == "pio"
    given = parsed(group, arguments).params
    if "pairs" in given and given.get("config") is None and "equation" in given:
        settings = dict(pair.split("=", 1) for pair in given["pairs"])
        flags = {f"{kind}.name": given[kind] for kind in ("equation", "arch")}
        pio.resolve(
            pio.discover(),
            settings=settings,
            flags={**flags, "preset": given["preset"], "data.file": given["data"] and "data.npz"},
        )


@pytest.mark.parametrize("section", [Train, Data, Keep])
def test_every_setting_is_on_it(section: Any) -> None:
    for field in dataclasses.fields(section):
        assert f"`{field.name}`" in PAGE
