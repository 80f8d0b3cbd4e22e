"""The command line: the only place that prints, exits or reads the environment.

The commands' modules import only what `--version` and `--help` need; a command imports the rest when it runs.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from types import TracebackType

from torchrepro_lint import ISSUES, __version__


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
        if stream is not None and not stream.closed:  # before the start, or by an editor's end
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
