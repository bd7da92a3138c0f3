"""Tab completes commands, options, names and runs, in the shells themselves and without JAX."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pio_cli._complete import runs

Complete = Callable[..., list[str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`pio` on the path, in an empty directory."""
    bin = tmp_path / "bin"
    bin.mkdir()
    pio = bin / "pio"
    pio.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pio_cli "$@"\n')
    pio.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return pio


def shell(name: str, script: str) -> list[str]:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    command = [name, *options, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def bash(*words: str) -> list[str]:
    """What bash offers for the last of these words, by the function that it would call."""
    return shell(
        "bash",
        'eval "$(pio completion bash)"\n'
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n"
        'read -r _ _ _ _ function _ <<< "$(complete -p pio)"\n'
        '"$function" pio\n'
        'printf "%s\\n" "${COMPREPLY[@]}"',
    )


@pytest.mark.usefixtures("command")
def test_bash_completes_commands_and_names():
    assert bash("pio", "ev") == ["evaluate"]
    assert bash("pio", "train", "--equation", "bu") == ["burgers"]
    assert {"--embedding", "--equation"} <= set(bash("pio", "train", "--e"))
    assert bash("pio", "describe", "arch", "mod") == ["modified"]


@pytest.mark.usefixtures("command")
def test_bash_completes_runs():
    for name in ("first", "four/0", "four/1"):
        Path("runs", name).mkdir(parents=True)
        Path("runs", name, "config.toml").touch()
    Path("runs/nothing").mkdir()
    assert bash("pio", "evaluate", "'\"\"'") == ["runs/first", "runs/four/0", "runs/four/1"]
    assert bash("pio", "resume", "runs/fo") == ["runs/four/0", "runs/four/1"]


@pytest.mark.usefixtures("command")
def test_fish_completes_names_and_says_nothing_of_files():
    offered = shell("fish", 'pio completion fish | source; complete -C "pio train --arch bx"')
    assert {line.split("\t")[0] for line in offered} == {"bx", "bxtl", "bxtg", "bxtf", "bxtn"}


@pytest.mark.usefixtures("command")
def test_zsh_knows_whom_to_ask_and_is_told():
    source = 'autoload -Uz compinit; compinit -D -u; eval "$(pio completion zsh)"; '
    assert shell("zsh", source + "echo $_comps[pio]") == ["_pio_completion"]
    ask = 'COMP_WORDS="pio train --weighting br" COMP_CWORD=3 _PIO_COMPLETE=zsh_complete pio'
    kind, name, _ = shell("zsh", source + ask)
    assert (kind, name) == ("plain", "brdr")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pio train --equation k", "plain,kdv"),
        ("pio train --optimizer so", "plain,soap"),
        ("pio train --preset sm", "plain,smoke"),
        ("pio train --embedding no", "plain,none"),
        ("pio train --tracker ml", "plain,mlflow"),
        ("pio data make adv", "plain,advection"),
        ("pio describe wei", "plain,weighting"),
        ("pio resume nowhere/", "dir,nowhere/"),
    ],
)
def test_no_heavy_library_is_imported_to_complete(words, offered):
    code = (
        "import sys; from pio_cli._main import run\n"
        "try: run([])\n"
        "except SystemExit: pass\n"
        "heavy = {'jax', 'numpy', 'scipy', 'haiku', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    given = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **given, "_PIO_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == ([offered], "")


def test_a_plugin_in_a_file_is_completed_too_and_a_broken_one_is_passed_over(write, heat):
    good, broken = write("heat.py", heat), write("broken.py", "raise RuntimeError")
    tries = [
        (good, "train --equation he", ["plain,heat"]),
        (broken, "train --equation he", []),
        (broken, "tra", ["plain,train"]),
    ]
    for path, rest, offered in tries:
        words = f"pio --plugin {path} {rest}"
        last = str(len(words.split()) - 1)
        env = {"COMP_WORDS": words, "COMP_CWORD": last, "_PIO_COMPLETE": "bash_complete"}
        command = [sys.executable, "-m", "pio_cli"]
        done = subprocess.run(
            command, env={**os.environ, **env}, capture_output=True, text=True, check=True
        )
        assert (done.stdout.split(), done.stderr) == (offered, "")


def test_looking_for_runs_ends_in_a_large_tree(tmp_path, monkeypatch):
    monkeypatch.setattr("pio_cli._complete.LOOKS", 3)
    for k in range(9):
        (tmp_path / f"a{k}" / "run").mkdir(parents=True)
        (tmp_path / f"a{k}" / "run" / "config.toml").touch()
    found = runs(None, None, f"{tmp_path}/")
    assert 1 <= len(found) <= 3


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_help_says_where_to_put_it_and_the_other_command_is_served_too(pio, name):
    code, out, _ = pio("completion", name, "--help")
    assert code == 0
    assert f"pio completion {name} > ~/" in out
    code, out, _ = pio("completion", name, "--command", "pio-operators")
    assert code == 0
    assert "_pio_operators_completion" in out
    assert "_PIO_COMPLETE" in out
