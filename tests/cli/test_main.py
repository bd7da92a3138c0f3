"""The `pio` group: help, errors and exit codes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest

from pio_cli._main import OWN

ADDS = """
    import click
    import pio

    @click.command()
    def hello():
        "Say hello."
        {body}

    @pio.hookimpl
    def pio_commands():
        return {{"hello": pio.Spec(__name__ + ":hello", "Say hello, lazily.")}}
"""


def adds(body: str) -> str:
    return ADDS.format(body=body)


@pytest.mark.parametrize("arguments", [["--help"], ["plugins"], ["plugins", "--json"], []])
def test_listing_imports_no_heavy_library(arguments):
    code = (
        "import sys; from pio_cli._main import run\n"
        f"assert run({arguments!r}) == 0\n"
        "assert not {'jax', 'numpy', 'scipy', 'haiku', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_pio_alone_shows_what_to_type_first_and_no_more(pio):
    code, out, err = pio()
    assert (code, err) == (0, "")
    assert len(out.splitlines()) < 24  # one screen
    commands = re.findall(r"^  (pio .*?)(?:  .*)?$", out, re.MULTILINE)
    assert len(commands) > 6
    for line in commands:
        name = shlex.split(line)[1]
        assert name in OWN or name == "--help"


def test_help_shows_every_command_and_how_to_begin(pio):
    code, out, err = pio("--help")
    assert (code, err) == (0, "")
    assert "To begin" in out
    assert all(f"\n  {name} " in out for name in OWN)


def test_version(pio):
    assert pio("--version") == (0, f"pio {version('pio-operators')}\n", "")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["plugns"], "did you mean 'plugins' or 'plugin'?"),
        (["plugins", "--jsn"], "Did you mean '--json'?"),
        (["--plugins", "x.py"], "Did you mean '--plugin'?"),
        (["describe", "equation"], "Missing argument 'NAME'"),
    ],
)
def test_a_wrong_command_is_told_the_nearest_right_one(pio, arguments, hint):
    code, out, err = pio(*arguments)
    assert (code, out) == (2, "")
    assert hint in err


def test_a_plugin_adds_a_command(shell, install):
    install("pio-hello", adds("click.echo('hello')"))
    assert "Say hello, lazily." in shell("--help").out
    assert shell("hello") == (0, "hello\n", "")


def test_a_file_adds_a_command_that_help_lists(pio, write):
    path = write("hello.py", adds("click.echo('hello')"))
    assert "Say hello, lazily." in pio("--plugin", path, "--help").out
    assert pio("--plugin", path, "hello") == (0, "hello\n", "")


@pytest.mark.parametrize(
    ("body", "code", "err"),
    [
        ("raise pio.PioError('that is wrong.')", 2, "Error: that is wrong.\n"),
        ("raise pio.RunError('it diverged.')", 1, "Error: it diverged.\n"),
        ("raise KeyboardInterrupt", 130, "\ninterrupted.\n"),
        ("raise BrokenPipeError", 1, ""),
    ],
)
def test_an_error_is_one_message_and_an_exit_code(shell, write, body, code, err):
    path = write("hello.py", adds(body))
    outcome = shell("--plugin", path, "hello")
    assert (outcome.code, outcome.err.lstrip("\n")) == (code, err.lstrip("\n"))


def test_a_bug_ends_in_a_traceback(shell, write):
    assert "ZeroDivisionError" in shell("--plugin", write("hello.py", adds("1 / 0")), "hello").err


def test_control_c_exits_with_130(write):
    path = write("hello.py", adds("print('up', flush=True); import time; time.sleep(60)"))
    command = [sys.executable, "-m", "pio_cli", "--plugin", str(path), "hello"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in err


@pytest.mark.parametrize("arguments", [["plugins"], ["plugins", "--json"], ["--help"]])
def test_a_reader_that_left_is_no_news(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "pio_cli", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.stderr == b""


def test_what_is_no_click_command_is_refused(pio, write):
    source = "import pio\n@pio.hookimpl\ndef pio_commands(): return {'hello': print}\n"
    code, _, err = pio("--plugin", write("hello.py", source), "hello")
    assert code == 2
    assert "no click command" in err


@pytest.mark.parametrize(
    ("given", "file"),
    [(["--plugin", "a.py"], "a.py"), (["--plugin=b.py"], "b.py"), (["--plugin"], "FILE.py")],
)
def test_where_the_plugin_option_belongs_is_said(pio, given, file):
    code, _, err = pio("data", "show", "kdv", *given)
    assert code == 2
    assert f"`--plugin` goes before the command: pio --plugin {file} data show …" in err
