"""A Python that has imported PyTorch: most of the time of a small program would be that import.

`PYTHON` takes the place of `sys.executable` for what only needs to run, not to start, as a user's program does. It is
the command in `client.py`: it hands its arguments, environment, folder and open files to a process that has
imported PyTorch, of which the program is a fork, and ends as the program ends. There is one such process for each hash
seed that is asked for, started when it is first needed, shared by all that test at the same time. `server.py` says
what a fork is not: where that matters, and for anything but a file, `-m` or `-c`, a new interpreter is started.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
_VARIABLE = "PRELOADED_PYTHON"  # where it lies, for the processes that pytest-xdist starts
CAN_PRELOAD = sys.platform == "linux"  # elsewhere the libraries that PyTorch loads may not bear a fork


_python = os.environ.get(_VARIABLE, sys.executable)


def python() -> str:
    """The command of the interpreter: within `provided`, one that has imported PyTorch."""
    return _python


@contextmanager
def provided() -> Iterator[None]:
    """Lays out the command, for this process and those that it starts; what it needs ends with this one."""
    global _python
    if not CAN_PRELOAD or _VARIABLE in os.environ:
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="preloaded-"))
    command = folder / "python"
    command.write_text(f"#!{sys.executable} -IS\n{(HERE / 'client.py').read_text()}")
    command.chmod(0o755)
    shutil.copy(HERE / "server.py", folder)
    (folder / "owner").write_text(str(os.getpid()))
    os.environ[_VARIABLE] = _python = str(command)
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)
        _python = sys.executable
        shutil.rmtree(folder, ignore_errors=True)
