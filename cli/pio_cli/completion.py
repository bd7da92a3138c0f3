"""`pio completion`: scripts that teach a shell to complete `pio` commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

# shell: what its help says, where the script goes and how it is tried at once.
SHELLS = {
    "bash": """Print the completion for bash, version 4.4 or newer.

    Keep it, for new shells (this needs the package bash-completion):

    \b
      mkdir -p ~/.local/share/bash-completion/completions
      pio completion bash > ~/.local/share/bash-completion/completions/pio

    Or add this line to ~/.bashrc, or type it to try:

    \b
      eval "$(pio completion bash)"
    """,
    "zsh": """Print the completion for zsh.

    Keep it, in a directory that is in fpath before compinit is called in ~/.zshrc:

    \b
      mkdir -p ~/.zsh/completions
      pio completion zsh > ~/.zsh/completions/_pio
      # in ~/.zshrc:  fpath=(~/.zsh/completions $fpath); autoload -Uz compinit; compinit

    Or add this line to ~/.zshrc after compinit, or type it to try:

    \b
      eval "$(pio completion zsh)"
    """,
    "fish": """Print the completion for fish.

    Keep it, for new shells:

    \b
      mkdir -p ~/.config/fish/completions
      pio completion fish > ~/.config/fish/completions/pio.fish

    Or type this to try:

    \b
      pio completion fish | source
    """,
}


@click.group()
def completion() -> None:
    """Print a script that lets your shell complete commands, options, names of plugins and runs.

    `pio completion bash --help` (or zsh, or fish) says where to put it.
    """


def _command(shell: str, text: str) -> click.Command:
    @click.option(
        "--command",
        type=click.Choice(["pio", "pio-operators"]),
        default="pio",
        show_default=True,
        help="The command to complete; the other one where `pio` is another program.",
    )
    def script(command: str) -> None:
        from pio_cli._main import pio

        kind = get_completion_class(shell)
        assert kind is not None
        # Whichever command was typed, it calls itself `pio` and listens to this variable.
        click.echo(kind(pio, {}, command, "_PIO_COMPLETE").source())

    return click.command(shell, help=text)(script)


for _shell, _text in SHELLS.items():
    completion.add_command(_command(_shell, _text))
