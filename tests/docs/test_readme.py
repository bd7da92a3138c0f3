"""The README's promises are kept by CI and by this suite."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def command(marker: str) -> str:
    """The one line of shell under `<!-- marker -->`."""
    [found] = re.findall(rf"<!-- {marker} -->\n```sh\n(.+)\n```\n", README)
    return found


@pytest.mark.parametrize("marker", ["run", "test"])
def test_each_command_starts_from_nothing_and_uses_tested_versions(marker):
    first, second, *rest = command(marker).split(" && ")
    assert first == "python3 -m venv .venv"
    assert second.startswith(".venv/bin/pip install -c constraints.txt ")
    assert rest


def test_ci_runs_the_readme_command_and_spells_none_of_its_own():
    script = (ROOT / ".ci" / "run").read_text()
    assert 'check tests bash -c "$test_command"' in script
    assert "pytest" not in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert ".ci/run" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_ci_reads_the_command_that_the_readme_shows():
    [line] = [
        x for x in (ROOT / ".ci" / "run").read_text().splitlines() if x.startswith("test_command=")
    ]
    shell = ["bash", "-c", f'{line}; printf %s "$test_command"']
    done = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == command("test")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
def test_the_run_command_ends_in_a_pio_command_that_works():
    last = command("run").split(" && ")[-1]
    assert "--time 2m" in last
    first, *arguments = shlex.split(last.replace("--time 2m", "--preset smoke"))
    assert first == ".venv/bin/pio"
    done = subprocess.run(
        [sys.executable, "-m", "pio_cli", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "test error" in done.stdout


def test_every_page_it_links_to_is_there():
    for page, anchor in re.findall(r"\]\(([\w./-]+)(?:#([\w-]+))?\)", README):
        assert (ROOT / page).exists(), page
        if anchor:
            headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(), re.MULTILINE)
            assert anchor in [h.lower().replace(" ", "-") for h in headings]


def test_every_dependency_has_a_tested_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["test"] + extras["docs"] + extras["dev"]
    pinned = (ROOT / "constraints.txt").read_text()
    for requirement in wanted:
        name = re.split(r"[\[<>=!~ ]", requirement)[0].lower().replace("_", "-")
        assert name == "pio-operators" or f"\n{name}==" in f"\n{pinned.lower()}".replace("_", "-")
    assert "://" not in pinned
