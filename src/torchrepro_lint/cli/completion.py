"""`torchrepro-lint completion`: what makes a shell complete commands, options, rules and operations."""

from __future__ import annotations

import click

from torchrepro_lint.cli.shared_options import Command

_EPILOG = """\
Once for all, in the file that the shell reads when it starts:
  bash   eval "$(torchrepro-lint completion bash)"    in ~/.bashrc
  zsh    eval "$(torchrepro-lint completion zsh)"     in ~/.zshrc, below compinit
  fish   torchrepro-lint completion fish | source     in ~/.config/fish/config.fish

Exit codes:
  0  printed
  2  a wrong option
"""


@click.command(
    "completion", cls=Command, epilog=_EPILOG, short_help="Print a script that completes this command in a shell."
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that makes a shell complete commands, options, files, rules and operations."""
    from click.shell_completion import get_completion_class

    from torchrepro_lint.cli import COMPLETE, streams
    from torchrepro_lint.cli.program import program

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    streams.write([kind(program, {}, "torchrepro-lint", COMPLETE).source() + "\n"])
    return 0
