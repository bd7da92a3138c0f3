"""The pages of the documentation, and how to do what they say."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import pytest

import pio
from pio_cli._main import pio as group

ROOT = Path(__file__).parents[2]

# Equations that the reader has installed from docs/examples, which have tests of their own.
EXAMPLES = {
    name
    for path in (ROOT / "docs" / "examples").glob("*/**/*.py")
    for name in re.findall(r'return {"(\w+)": pio.Spec', path.read_text(encoding="utf-8"))
}


@dataclass(frozen=True)
class Page:
    """A page: its Python, which runs as one program, and the commands it shows.

    Commands below `<!-- run -->` are run as well, on the smoke preset; the others only have to be right.
    """

    name: str
    text: str

    @cached_property
    def python(self) -> list[str]:
        return re.findall(r"```python\n(.*?)```", self.text, re.DOTALL)

    @cached_property
    def commands(self) -> list[str]:
        return [line for block in self._shell() for line in block]

    @cached_property
    def run(self) -> list[str]:
        return [_quickly(line) for block in self._shell("<!-- run -->\n") for line in block]

    def _shell(self, mark: str = "") -> Iterator[list[str]]:
        for block in re.findall(rf"{mark}```sh\n(.*?)```", self.text, re.DOTALL):
            lines = [re.sub(r"\s+# .*", "", line) for line in block.splitlines()]
            lines = [line.removeprefix(".venv/bin/") for line in lines]
            yield [line for line in lines if line.startswith("pio ")]

    def play(self) -> None:
        """Run its Python here, and keep it in the file that its commands name as a plugin."""
        code = "\n".join(self.python)
        exec(compile(code, self.name, "exec", dont_inherit=True), {"__name__": "page"})
        names = set(re.findall(r"--plugin (\w+\.py)", "\n".join(self.commands)))
        for name in names:
            Path(name).write_text(self._plugin(), encoding="utf-8")

    def _plugin(self) -> str:
        """The blocks from the last that imports pio to the one with the hook."""
        last = next(k for k, block in enumerate(self.python) if "@pio.hookimpl" in block)
        first = max(k for k in range(last + 1) if "import pio\n" in self.python[k])
        return "".join(self.python[first : last + 1])


def _quickly(line: str) -> str:
    line = re.sub(r"--(time|steps) \w+", "--preset smoke", line)
    return re.sub(r"--functions \d+", "--functions 2", line)


def pages() -> list[Page]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [Page(path.stem, path.read_text(encoding="utf-8")) for path in paths]


def check_command(line: str) -> None:
    """Fail unless `pio` would begin to do what a line says: its options are there, its names too."""
    first, *arguments = shlex.split(line)
    assert first == "pio"
    for name in re.findall(r"[\w-]+\.(?:csv|npy|npz)", line):
        Path(name).touch()  # what the reader has
    try:
        context = parsed(group, arguments)
    except click.exceptions.Exit:
        return  # --help, which has been shown
    given = context.params
    if (
        context.info_name == "train"
        and given["config"] is None
        and given["equation"] not in EXAMPLES
    ):
        files = context.find_root().ensure_object(object).files  # type: ignore[attr-defined]
        settings = dict(pair.split("=", 1) for pair in given["pairs"])
        flags = {f"{kind}.name": given[kind] for kind in ("equation", "arch")}
        pio.resolve(
            pio.discover(files),
            settings=settings,
            flags={**flags, "preset": given["preset"], "data.file": given["data"] and "data.npz"},
        )


def parsed(
    command: click.Command, arguments: list[str], parent: click.Context | None = None
) -> click.Context:
    context = command.make_context(command.name, arguments, parent=parent)
    if not isinstance(command, click.Group):
        return context
    name, inner, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    assert name is not None
    assert inner is not None
    return parsed(inner, rest, context)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", pages(), ids=lambda page: page.name)


@pytest.fixture
def check() -> object:
    return check_command


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in. Test sets are kept for the next page."""
    home = tmp_path_factory.mktemp("page")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    monkeypatch.setenv("PIO_CACHE_DIR", str(shared / "pages"))
    monkeypatch.chdir(home)
    return home
