"""The command line: the only place that prints, exits or reads the environment.

The commands' modules import only what `--version` and `--help` need; a command imports the rest when it runs. Where the
command line has nothing but paths, not even click is imported.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

from torchrepro_lint import ISSUES, __version__

# Each a module beside this one, imported when it is asked for.
COMMANDS = ("check", "explain", "rule", "ops", "verify", "rerun", "env", "lsp", "completion")
COMPLETE = "_TORCHREPRO_LINT_COMPLETE"  # by which a shell asks for what completes a word


def main() -> None:
    """The console script: streams that can encode any text, and exit code 2 for a crash."""
    gc.disable()  # a run makes few cycles, and searching syntax trees for them is slow
    sys.excepthook = _crash
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(_command(sys.argv[1:]))
    except SystemExit as ended:
        _leave(ended)


def _command(arguments: Sequence[str]) -> int:
    """Run what the command line asks for; the exit code."""
    paths = paths_alone(arguments)
    if paths is not None:
        from torchrepro_lint.cli.run import check_paths

        return check_paths(paths)
    from torchrepro_lint.cli.program import program

    return program()  # type: ignore[no-any-return]


def paths_alone(arguments: Sequence[str]) -> Sequence[str] | None:
    """The paths to check, where nothing else is asked for: no option, no other command, and no pattern, which Windows
    leaves to the program."""
    paths = arguments[1:] if arguments and arguments[0] == "check" else arguments
    is_command = paths is arguments and paths and paths[0] in COMMANDS
    has_paths_only = all(path and not path.startswith("-") for path in paths)
    return paths if has_paths_only and not is_command and os.name != "nt" and COMPLETE not in os.environ else None


def _leave(ended: SystemExit) -> None:
    """Exit without the interpreter's clean-up, which costs a small run a quarter of its time."""
    if not isinstance(ended.code, int):
        raise ended
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:  # before the start, or by an editor's end
            with suppress(BrokenPipeError):
                stream.flush()
    os._exit(ended.code)


def _crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Python would exit with 1, which means "findings" here."""
    if issubclass(kind, KeyboardInterrupt):  # so early that no command runs yet
        os._exit(130)
    sys.__excepthook__(kind, error, trace)
    where = f"{__version__}, Python {sys.version.split()[0]} on {sys.platform}"
    sys.stderr.write(f"torchrepro-lint crashed, which is a mistake in it ({where}): please report the lines above ")
    sys.stderr.write(f"at {ISSUES}, with the command and, if you can, the files\n")
    sys.stderr.flush()
    os._exit(2)
