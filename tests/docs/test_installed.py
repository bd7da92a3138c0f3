"""Installed from a wheel, away from the checkout, pio works and finds what third parties install."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import pio
from pio._config import presets
from pio._guarantee import anything, missed

ROOT = Path(__file__).parents[2]
EXAMPLES = {"heat": "pio-heat", "sound": "pio-waves", "torus": "pio-torus", "fisher": "pio-fisher"}


class Environment:
    """A virtual environment with pio's dependencies but not with this checkout."""

    def __init__(self, home: Path) -> None:
        self.home, self.bin = home, home / "env" / "bin"
        self._do(sys.executable, "-m", "venv", "--without-pip", home / "env")
        own = self.python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        # A path in a .pth file is searched, but its own .pth files, such as an editable install's, are not.
        Path(own, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def install(self, *what: object) -> None:
        offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", "install", *offline]
        self._do(*pip, *what)

    def python(self, *arguments: object) -> str:
        return self._do(self.bin / "python", *arguments)

    def pio(self, *arguments: object) -> str:
        return self._do(self.bin / "pio", *arguments)

    def _do(self, *command: object) -> str:
        hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTEST_ADDOPTS"}
        kept = {k: v for k, v in os.environ.items() if k not in hidden}
        env = {**kept, "PIO_CACHE_DIR": str(self.home / "cache"), "JAX_PLATFORMS": "cpu"}
        given = [str(part) for part in command]
        done = subprocess.run(
            given, cwd=self.home, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{given}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def test_a_wheel_works_and_finds_the_examples(tmp_path):
    pytest.importorskip("pip")
    environment = Environment(tmp_path)
    projects = {
        name: shutil.copytree(ROOT / "docs" / "examples" / d, tmp_path / d)
        for name, d in EXAMPLES.items()
    }
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    environment._do(*wheel, "--no-build-isolation", "-w", tmp_path / "dist", ROOT)
    environment.install(*(tmp_path / "dist").glob("*.whl"), *projects.values())

    where = environment.python("-c", "import sys, pio, pio_cli; print(pio.__file__, *sys.path)")
    assert str(tmp_path) in where.split()[0]
    assert str(ROOT / "core") not in where

    listed = json.loads(environment.pio("plugins", "--json"))
    assert listed["broken"] == []
    supplied = {p["name"]: p["distribution"] for p in listed["plugins"] if p["kind"] == "equation"}
    assert supplied.items() >= EXAMPLES.items()

    # One by its own tests, which are all checks there are; the others by use.
    said = environment.python("-m", "pytest", "-q", "-p", "no:cacheprovider", projects["heat"])
    assert "failed" not in said
    assert "passed" in said
    smoke = ("--preset", "smoke", "--optimizer", "adamw", "--set", "evaluations=1")
    for name in ("sound", "torus", "fisher"):
        said = environment.pio(
            "train", "--equation", name, "--arch", "tl", *smoke, "--out", f"runs/{name}"
        )
        assert "test error" in said
        assert "failed" not in environment.pio("plugin", "check", name, "-k", "registration")
    environment.pio("evaluate", "runs/sound")
    assert {"predictions-p.png", "predictions-v.png"} <= {
        path.name for path in (tmp_path / "runs" / "sound" / "figures").iterdir()
    }
    assert "test error" in environment.pio(
        "train", "--equation", "heat", "--arch", "vanilla", *smoke
    )


def test_a_preset_of_an_example_is_all_its_conditions_need():
    sys.path.insert(0, str(ROOT / "docs" / "examples" / "pio-fisher"))
    registry = pio.discover()
    try:
        from pio_fisher.fisher import Fisher
    finally:
        sys.path.pop(0)
    name, options = presets(Fisher())["smoke"].embedding
    model = anything(Fisher(), registry.make("embedding", name, options), hard=True)
    assert max(missed(model).values()) < 1e-12


def test_the_smallest_example_is_small():
    lines = (ROOT / "docs" / "examples" / "pio-heat" / "pio_heat.py").read_text().splitlines()
    assert len(lines) <= 60
    lines = (ROOT / "docs/examples/pio-fisher/pio_fisher/fisher.py").read_text().splitlines()
    assert len(lines) <= 90
