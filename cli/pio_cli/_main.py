"""The `pio` group: which commands there are, and what becomes of an error.

Commands are imported when called, so that `pio --help` is quick. Ours are rows of `OWN`; a plugin
adds others through the hook `pio_commands`.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import click
from click.shell_completion import CompletionItem

from pio._errors import PioError, RunError, suggestion
from pio._warning import PioWarning
from pio_cli._plugins import Plugins
from pio_cli._stdout import complains, flush, plug, silence

# name: (where the click command lives, one line of help), in the order of a first visit.
OWN = {
    "plugins": ("pio_cli.plugins:plugins", "List what can be named, and who supplies it."),
    "describe": ("pio_cli.describe:describe", "Explain one plugin: its mathematics and options."),
    "train": ("pio_cli.train:train", "Learn the solution operator of an equation."),
    "resume": ("pio_cli.resume:resume", "Continue a run from its latest checkpoint."),
    "evaluate": ("pio_cli.evaluate:evaluate", "Measure how far a run is from the truth."),
    "predict": ("pio_cli.predict:predict", "Solutions for input functions of your own."),
    "runs": ("pio_cli.runs:runs", "List the runs there are."),
    "compare": ("pio_cli.compare:compare", "Tell whether one model is better than another."),
    "reproduce": ("pio_cli.reproduce:reproduce", "Train, compare and show a published table."),
    "data": ("pio_cli.data:data", "Make and inspect reference solutions."),
    "plugin": ("pio_cli.plugin:plugin", "Begin a plugin of your own, and check that it is right."),
    "completion": ("pio_cli.completion:completion", "Let your shell complete commands and names."),
}


# What `pio` alone shows: nothing but what to type first.
START = """\
pio learns the solution operators of PDEs from their physics.

Train one for two minutes, and see how good it is:

  pio train --equation diffusion-reaction --arch tl --time 2m --out runs/first
  pio evaluate runs/first

Look around:

  pio plugins                         what can be named: equations, architectures, …
  pio describe equation kdv           one of them: its mathematics, its options
  pio train --help                    how to use a command
  pio --help                          all commands

Use it for your own equation:

  pio plugin new equation heat        a small project that works, for you to edit
  pio plugin check heat.py            whether an equation is right"""


class Commands(click.Group):
    """A group whose commands are known by name and summary until one is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*OWN, *sorted(set(_plugins(ctx).registry.of("command")) - set(OWN))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OWN:
            module, _, name = OWN[cmd_name][0].partition(":")
            command = getattr(importlib.import_module(module), name)
        elif cmd_name in _plugins(ctx).registry.of("command"):
            command = _plugins(ctx).registry.load("command", cmd_name)
        else:
            return None
        if not isinstance(command, click.Command):
            raise PioError(f"command {cmd_name!r} is {command!r}, which is no click command.")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in OWN:
            _plugins(ctx).warn()
            known = self.list_commands(ctx)
            if args[0] not in known:
                raise click.UsageError(
                    f"no command named {args[0]!r}{suggestion(args[0], known)}", ctx
                )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _plugins(ctx).warn()
        with formatter.section("Commands"):
            formatter.write_dl(self._summaries(ctx))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # As click does, but from the summaries: no command is imported to be completed.
        options = click.Command.shell_complete(self, ctx, incomplete)
        try:
            rows = self._summaries(ctx)
        except PioError:  # a broken --plugin file, which is reported when the command is run
            rows = [(name, summary) for name, (_, summary) in OWN.items()]
        known = [CompletionItem(n, help=summary) for n, summary in rows if n.startswith(incomplete)]
        return [*known, *options]

    def _summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        supplied = _plugins(ctx).registry.of("command")
        return [
            (name, OWN[name][1] if name in OWN else supplied[name][0].summary)
            for name in self.list_commands(ctx)
        ]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("To begin"):
            formatter.write_dl(
                [
                    ("pio plugins", "what there is to name"),
                    ("pio describe equation kdv", "one of them"),
                    ("pio COMMAND --help", "how to use a command"),
                ]
            )


def _plugins(ctx: click.Context) -> Plugins:
    return ctx.ensure_object(Plugins)


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"pio {version('pio-operators')}")
        ctx.exit()


def _files(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> None:
    _plugins(ctx).files = value


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.option(
    "--plugin",
    metavar="FILE.py",
    multiple=True,
    is_eager=True,  # before --help, which lists the commands such a file adds
    expose_value=False,
    callback=_files,
    help="Also load the plugin in this file. May be given several times.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.pass_context
def pio(ctx: click.Context) -> None:
    """Learn the solution operators of PDEs from their physics.

    Equations, architectures, loss weightings and embeddings are plugins, named on the command line.
    """
    if ctx.invoked_subcommand is None:
        click.echo(START)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0 done, 1 the run failed, 2 the command was wrong, 130 interrupted. Only a bug, ours or a
    plugin's, ends in a traceback.
    """
    plug()
    try:
        with warnings.catch_warnings():
            _show_warnings()
            result = pio.main(list(arguments), prog_name="pio", standalone_mode=False)
        flush()
    except click.ClickException as error:
        _placed(error, arguments).show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted.", err=True)
        return 130
    except PioError as error:
        click.echo(f"Error: {error}", err=True)
        return 1 if isinstance(error, RunError) else 2
    except BrokenPipeError:  # the reader has left
        silence(sys.stdout)
        return 1
    except OSError as error:
        if not complains():
            raise
        silence(sys.stdout)
        click.echo(f"Error: cannot write to stdout: {error.strerror or error}.", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _placed(error: click.ClickException, arguments: Sequence[str]) -> click.ClickException:
    """The error, or where `--plugin` belongs, which a command itself does not have."""
    if not isinstance(error, click.NoSuchOption) or error.option_name != "--plugin":
        return error
    words = [*" ".join(arguments).replace("--plugin=", "--plugin ").split(), "FILE.py"]
    files = [file for option, file in pairwise(words) if option == "--plugin"]
    command = error.ctx.command_path.removeprefix("pio ") if error.ctx else "COMMAND"
    return click.UsageError(
        f"`--plugin` goes before the command: pio --plugin {files[-1]} {command} …", error.ctx
    )


def _show_warnings() -> None:
    """Ours are sentences, each said once; others are shown as ever."""
    show = warnings.showwarning

    def tell(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, PioWarning):
            click.echo(f"Warning: {message}", err=True)
        else:
            show(message, category, *rest, **more)

    warnings.showwarning = tell
    warnings.simplefilter("once", PioWarning)
