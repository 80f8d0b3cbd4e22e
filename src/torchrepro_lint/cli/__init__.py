"""The command line: the only place that prints, exits or reads the environment.

The commands' modules import only what `--version` and `--help` need; a command imports the rest when it runs.
"""

from __future__ import annotations

import io
import sys
from types import TracebackType


def main() -> None:
    """The console script: streams that can write anything, and exit code 2 for a crash."""
    from torchrepro_lint.cli.program import program

    sys.excepthook = _crash
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    program()


def _crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Python would exit with 1, which means "findings" here."""
    import os

    if issubclass(kind, KeyboardInterrupt):  # so early that no command runs yet
        os._exit(130)
    sys.__excepthook__(kind, error, trace)
    sys.stderr.write("torchrepro-lint crashed: this is a mistake in it, please report the lines above\n")
    sys.stderr.flush()
    os._exit(2)
