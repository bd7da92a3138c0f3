"""`pio plugin new` writes a plugin that works, and `pio plugin check` tells whether one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pio_cli._main import run

KINDS = ("equation", "architecture", "weighting", "embedding")


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each kind, written by `pio plugin new` and installed by pip, as a third party would."""
    pytest.importorskip("pip")
    home = tmp_path_factory.mktemp("projects")
    for kind in KINDS:
        out = str(home / f"pio-my-{kind}")
        assert run(["plugin", "new", kind, f"My_{kind}", "--out", out]) == 0
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    where = ["--no-build-isolation", "--target", str(home / "site")]
    made = [str(home / f"pio-my-{kind}") for kind in KINDS]
    subprocess.run([*pip, *where, *made], check=True, capture_output=True)
    return home


def outcome(projects: Path, kinds: tuple[str, ...], **environment: str) -> str:
    """What pytest says of the tests that projects came with, in a process of its own."""
    paths = [str(projects / f"pio-my-{kind}" / "tests") for kind in kinds]
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    given = {
        **os.environ,
        "PYTHONPATH": str(projects / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    done = subprocess.run(
        [*pytest_, *paths],
        env=given,
        cwd=projects,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_equation_passes_its_own_tests_once_installed(projects: Path) -> None:
    assert "22 passed, 4 skipped" in outcome(projects, ("equation",))


def test_so_do_the_other_kinds(projects: Path) -> None:
    # Alone, without the equations of ours that an architecture is tried with.
    mine = {"PIO_PLUGINS": ",".join(f"pio-my-{kind}" for kind in KINDS[1:])}
    assert "34 passed, 1 skipped" in outcome(projects, KINDS[1:], **mine)


def test_they_are_listed_without_importing_jax(projects, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(projects / "site"))
    code = "import sys, pio; print(*[e.name for e in pio.discover().entries]); assert 'jax' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {f"my-{kind}" for kind in KINDS} <= set(done.stdout.split())


def test_a_project_is_named_in_every_place_as_is_usual_there(pio, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = pio("plugin", "new", "eq", "pio_Allen Cahn")
    assert (code, err) == (0, "")
    project = tmp_path / "pio-allen-cahn"
    assert sorted(str(p.relative_to(project)) for p in project.rglob("*") if p.is_file()) == [
        ".gitignore",
        "README.md",
        "pio_allen_cahn/__init__.py",
        "pio_allen_cahn/allen_cahn.py",
        "pyproject.toml",
        "tests/test_allen_cahn.py",
    ]
    assert "class AllenCahn:" in (project / "pio_allen_cahn/allen_cahn.py").read_text()
    assert 'allen-cahn = "pio_allen_cahn"' in (project / "pyproject.toml").read_text()
    assert "pip install -e pio-allen-cahn" in out
    assert not any("$" in p.read_text() for p in project.rglob("*") if p.is_file())


def test_words_of_python_are_names_too(pio, tmp_path):
    out = tmp_path / "it"
    assert pio("plugin", "new", "embedding", "none", "--out", out).code == 0
    assert "class NoneEmbedding:" in (out / "pio_none/none.py").read_text()
    assert pio("plugin", "new", "embedding", "lambda", "--out", tmp_path / "other").code == 0
    assert (tmp_path / "other/pio_lambda/lambda_embedding.py").is_file()


@pytest.mark.parametrize("name", ["2d", "heat!", "", "../heat", "hèat", "-x"])
def test_what_is_no_name_is_refused(pio, tmp_path, name):
    code, out, err = pio("plugin", "new", "equation", "--out", tmp_path / "it", "--", name)
    assert (code, out) == (2, "")
    assert "is no name for a plugin" in err
    assert not (tmp_path / "it").exists()


def test_a_kind_without_a_template_is_refused(pio):
    code, _, err = pio("plugin", "new", "tracker", "mine")
    assert code == 2
    assert "there is no template for a tracker; " in err


def test_nothing_is_written_over(pio, write, tmp_path):
    kept = write("it/notes.txt", "mine").parent
    code, out, err = pio("plugin", "new", "equation", "heat", "--out", kept)
    assert (code, out) == (2, "")
    assert "is there already, and is not written over" in err
    assert [p.name for p in kept.iterdir()] == ["notes.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["it"]


def test_a_project_is_written_whole_or_not_at_all(pio, write, tmp_path):
    file = write("file", "no directory")
    code, _, err = pio("plugin", "new", "equation", "heat", "--out", file / "it")
    assert code == 2
    assert "cannot write to" in err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_name_that_is_taken_is_a_warning(pio, tmp_path):
    code, _, err = pio("plugin", "new", "equation", "burgers", "--out", tmp_path / "it")
    assert code == 0
    assert "Warning: equation 'burgers' is supplied by pio-operators" in err


# ---------------------------------------------------------------------------------------------
# Checks

OPTIMIZER = '''
    """A slow optimizer."""

    from dataclasses import dataclass

    import jax.numpy as jnp
    import optax

    import pio


    @dataclass(frozen=True)
    class Slow:
        """Gradient descent, in the wrong direction."""

        rate_: float = pio.option(0.01, "learning rate")

        def transform(self, steps):
            return pio.clipped(optax.scale(SIGN * self.rate_))

        def rate(self, step, steps):
            return jnp.asarray(self.rate_)


    @pio.hookimpl
    def pio_optimizers():
        return {"slow": Slow}
'''


@pytest.fixture
def sound(write):
    return write("sound.py", OPTIMIZER.replace("SIGN", "-1"))


@pytest.fixture
def broken(write):
    return write("broken.py", OPTIMIZER.replace("SIGN", "1"))


def test_a_sound_file_passes(pio, sound):
    code, out, err = pio("plugin", "check", sound)
    assert (code, err) == (0, "")
    assert out.startswith("optimizer slow\n  ✓  makes")
    assert "7 passed, 1 skipped in" in out


def test_a_broken_file_fails_with_the_reason_and_the_mend(pio, broken):
    code, out, err = pio("plugin", "check", broken)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    [k] = [i for i, line in enumerate(lines) if line.startswith("  ✗")]
    assert "descends" in lines[k]
    assert "Slow takes a quadratic from" in lines[k]
    assert lines[k + 1].strip().startswith("→ look at the sign of the updates")
    assert "1 failed" in lines[-1]


def test_results_for_scripts_are_one_object_a_line(pio, broken):
    code, out, _ = pio("plugin", "check", broken, "--json", "-k", "e")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert {r["state"] for r in found} == {"passed", "failed", "skipped"}
    assert set(found[0]) >= {"kind", "name", "check", "summary", "state", "what", "mend", "seconds"}
    assert all("e" in r["check"] for r in found)


def test_an_installed_plugin_is_checked_by_its_name_or_its_distributions(pio, install):
    install("pio-slow", OPTIMIZER.replace("SIGN", "-1"))
    for target in ("slow", "pio-slow", "Pio_Slow"):
        code, out, _ = pio("plugin", "check", target, "-k", "makes", "--kind", "opt")
        assert code == 0
        assert "1 passed" in out
    code, out, _ = pio("plugin", "check", "slow", "-k", "registration")
    assert code == 1
    assert "pio-slow imports jax and optax when plugins are listed" in out
    assert "pio.Spec" in out


def test_a_plugin_is_checked_with_other_options(pio, sound):
    code, out, _ = pio("plugin", "check", sound, "-k", "makes", "--set", "rate_=0.1")
    assert (code, "1 passed" in out) == (0, True)
    code, out, _ = pio("plugin", "check", sound, "-k", "makes", "--set", "rat=0.1")
    assert code == 1
    assert "has no option 'rat'; did you mean 'rate_'" in out
    code, _, err = pio("plugin", "check", "builtin", "--kind", "embedding", "--set", "order=1")
    assert code == 2
    assert "--set is for one plugin, and these are 4" in err


def test_pytest_begins_without_jax_and_fails_with_the_mend_alone(write):
    def tests(name, source):
        command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
        command += ["-p", "no:jaxtyping", str(write(name, source))]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    light = tests(
        "test_light.py",
        """
        import sys

        def test_light():
            assert "pio._pytest" in sys.modules
            assert not {"jax", "numpy", "pio.testing"} & set(sys.modules)
        """,
    )
    assert light.returncode == 0, light.stdout
    source = OPTIMIZER.replace("SIGN", "1") + (
        "\n    import pio.testing\n\n    test_slow = pio.testing.suite('optimizer', Slow)\n"
    )
    done = tests("test_slow.py", source)
    assert done.returncode == 1
    assert "test_slow[descends]" in done.stdout
    assert "To mend it: look at the sign of the updates" in done.stdout
    assert "Traceback" not in done.stdout
    assert "raise Failure" not in done.stdout
    assert "1 failed, 6 passed, 1 skipped" in done.stdout


def test_all_that_is_not_ours_is_checked_unless_told(pio, install):
    install("pio-slow", OPTIMIZER.replace("SIGN", "-1"))
    code, out, _ = pio("plugin", "check", "-k", "makes")
    assert (code, out.count("makes")) == (0, 1)


def test_a_class_that_cannot_be_imported_is_one_failed_check(pio, write):
    source = "import pio\n@pio.hookimpl\ndef pio_weightings(): return {'w': pio.Spec('nowhere:W', 'none')}\n"
    code, out, _ = pio("plugin", "check", write("w.py", source))
    assert code == 1
    assert "cannot be imported from nowhere:W" in out
    assert "1 failed" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["burgerz"], "no plugin or distribution named 'burgerz'; did you mean 'burgers'?"),
        (["burgers", "--kind", "weighting"], "burgers supplies no weighting; leave --kind out"),
        (["adamw", "-k", "descent"], "no check has 'descent' in its name; did you mean 'descends'"),
        (["nowhere.py"], "there is no such file"),
        (["tensorboard"], "there are no checks of a tracker"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(pio, arguments, message):
    code, out, err = pio("plugin", "check", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_directory_is_to_be_installed_first(pio, tmp_path):
    code, _, err = pio("plugin", "check", tmp_path)
    assert code == 2
    assert "pip install -e" in err


def test_a_distribution_that_fails_to_load_is_reported(pio, install):
    install("pio-broken", "raise RuntimeError('no such luck')\n")
    code, _, err = pio("plugin", "check", "pio-broken")
    assert code == 2
    assert "no such luck" in err
