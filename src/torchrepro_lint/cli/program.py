"""The program and how a command is found: a bare path, or nothing but options, goes to `check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from torchrepro_lint import __version__
from torchrepro_lint.cli import COMMANDS, COMPLETE
from torchrepro_lint.cli.shared_options import Epilog
from torchrepro_lint.cli.streams import INTERRUPTED, exit_code

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_OWN = ("--help", "-h", "--version", "-V")

_EPILOG = """\
Examples:
  torchrepro-lint src/                 what is wrong, and where
  torchrepro-lint src/ --diff          what the safe fixes would change
  torchrepro-lint src/ --fix           make the safe fixes
  torchrepro-lint rule TRP201          why a rule exists and what to write instead
  torchrepro-lint explain train.py     what was found out about a program's seeds
  torchrepro-lint ops scatter_add_     what an operation does, where, since when
  torchrepro-lint verify train.py      run the operations that were flagged
  torchrepro-lint rerun train.py       run it twice, and say where the runs part
  torchrepro-lint env --save env.json  what results depend on besides the program

A bare path goes to check; a path that is named like a command is given as ./rule.
`torchrepro-lint check --help` lists every option.
"""


class Program(Epilog, click.Group):
    """A group whose default command is `check`, and which ends with the documented exit codes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_complete = args or not ctx.resilient_parsing  # else a shell asks what the first word may be
        if is_complete and (not args or args[0] not in (*COMMANDS, *_OWN)):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands; and what may follow `check`, which need not be named."""
        from click.shell_completion import CompletionItem

        check = self.get_command(ctx, "check")
        if incomplete.startswith("-") and check is not None:
            return [*super().shell_complete(ctx, incomplete), *check.shell_complete(ctx, incomplete)]
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, incomplete)]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"torchrepro_lint.cli.{cmd_name}"), cmd_name)
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        complete_var = complete_var or COMPLETE
        outcome = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return outcome()
        try:
            sys.exit(exit_code(outcome))
        except click.ClickException as error:
            from torchrepro_lint.report.escaping import visible

            error.message = visible(error.message)  # type: ignore[misc] # it may quote the name of a file
            error.show()
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)


@click.group(
    cls=Program,
    epilog=_EPILOG,
    options_metavar="",
    subcommand_metavar="[COMMAND] [OPTIONS] [PATHS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="torchrepro-lint %(version)s")
def program() -> None:
    """Find, fix and prove nondeterminism in PyTorch training code, across the files of a program."""
