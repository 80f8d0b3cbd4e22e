"""The command line: the only place that prints, exits or reads the environment.

The commands' modules import only what `--version` and `--help` need; a command imports the rest when it runs.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from types import TracebackType


def main() -> None:
    """The console script: streams that can encode any text, and exit code 2 for a crash."""
    gc.disable()  # a run makes few cycles, and searching syntax trees for them is slow
    from torchrepro_lint.cli.program import program

    sys.excepthook = _crash
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        program()
    except SystemExit as ended:
        _leave(ended)


def _leave(ended: SystemExit) -> None:
    """Exit without the interpreter's clean-up, which costs a small run a quarter of its time."""
    if not isinstance(ended.code, int):
        raise ended
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a stream that was closed before the start
            stream.flush()
    os._exit(ended.code)


def _crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Python would exit with 1, which means "findings" here."""
    if issubclass(kind, KeyboardInterrupt):  # so early that no command runs yet
        os._exit(130)
    sys.__excepthook__(kind, error, trace)
    sys.stderr.write("torchrepro-lint crashed: this is a mistake in it, please report the lines above\n")
    sys.stderr.flush()
    os._exit(2)
