"""`pio plugins` lists what there is, and what is wrong with it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

RAISES = "raise RuntimeError('no such luck')\n"

PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "pio-heat"
    version = "0.3"

    [project.entry-points.pio]
    heat = "pio_heat"

    [tool.hatch.build.targets.wheel]
    packages = ["pio_heat.py"]
"""


def test_a_table_of_names_and_who_supplies_them(pio):
    code, out, err = pio("plugins")
    assert (code, err) == (0, "")
    [line] = [line for line in out.splitlines() if " kdv " in line]
    assert "pio-operators 0.1.0" in line
    assert line == line.rstrip()


def test_the_same_as_json(pio, write, heat):
    path = write("heat.py", heat)
    code, out, _ = pio("--plugin", path, "plugins", "--json")
    listed = json.loads(out)
    assert code == 0
    assert {
        "kind": "equation",
        "name": "heat",
        "summary": "Heat on a rod, s_t = α s_xx.",
        "distribution": None,
        "version": None,
        "path": str(path),
    } in listed["plugins"]
    assert listed["broken"] == listed["conflicts"] == []


def test_a_project_built_and_installed_is_listed_and_usable(shell, write, heat, install, tmp_path):
    """The whole way of a third party: pyproject.toml, a wheel, pip, an entry point."""
    pytest.importorskip("pip")
    del install  # it puts tmp_path/site on the path
    project = write("project/pyproject.toml", PROJECT).parent
    write("project/pio_heat.py", heat)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    where = ["--no-build-isolation", "--target", str(tmp_path / "site"), str(project)]
    subprocess.run([*pip, *where], check=True, capture_output=True)
    [line] = [line for line in shell("plugins").out.splitlines() if " heat " in line]
    assert "pio-heat 0.3" in line
    assert shell("describe", "equation", "heat").code == 0


def test_a_broken_plugin_is_shown_with_its_error_and_the_rest_with_it(shell, install):
    install("pio-broken", RAISES)
    code, out, err = shell("plugins")
    assert (code, err) == (0, "")
    assert "plugin 'pio-broken 1.0' failed to load: RuntimeError: no such luck" in out
    assert "kdv" in out


def test_a_broken_plugin_is_a_warning_where_it_is_not_needed(shell, install):
    install("pio-broken", RAISES)
    for arguments in (["--help"], ["describe", "equation", "kdv"]):
        code, out, err = shell(*arguments)
        assert code == 0
        assert out
        [line] = err.splitlines()
        assert line.startswith("Warning: plugin 'pio-broken 1.0' failed to load: RuntimeError")


def test_a_conflict_is_shown(shell, install, heat):
    install("pio-heat", heat)
    install("pio-thermal", heat)
    message = "equation 'heat' is supplied by both 'pio-heat' and 'pio-thermal'"
    assert message in shell("plugins").out
    code, out, err = shell("describe", "equation", "heat")
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {message}")
    assert shell("describe", "equation", "kdv").code == 0


def test_a_broken_file_is_an_error(pio, write):
    code, out, err = pio("--plugin", write("broken.py", RAISES), "plugins")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "no such luck" in err


def test_a_command_that_ours_hides_is_shown(pio, write):
    source = "import pio\n@pio.hookimpl\ndef pio_commands(): return {'plugins': print}\n"
    code, out, _ = pio("--plugin", write("rude.py", source), "plugins")
    assert code == 0
    assert "is hidden by pio's own" in out


def test_strict_shows_the_traceback(shell, install, monkeypatch):
    install("pio-broken", RAISES)
    monkeypatch.setenv("PIO_STRICT_PLUGINS", "1")
    assert "Traceback" in shell("plugins").err


def test_colours_are_for_terminals_that_want_them(shell, install, monkeypatch):
    install("pio-broken", RAISES)
    red = "\x1b[31m"
    assert "\x1b" not in shell("plugins").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert red in shell("plugins").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert red not in shell("plugins").out
