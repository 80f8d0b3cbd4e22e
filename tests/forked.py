"""The command as a process, without the start of one: a fork of the process that tests, which has imported the linter.

What is not as in a new interpreter: what the tests imported is there, PyTorch too; what Python reads at its start, such
as PYTHONHASHSEED, has no effect; other modules' caches are as the tests left them. Tests of these start an interpreter.
"""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import preloaded
from torchrepro_lint import checks, cli, fixing

_FORKING = threading.Lock()  # one thread at a time: what libraries do before and after a fork is not made for two


def lint(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """What a command prints and how it ends; `before` is called first in its process."""
    environment = {**(os.environ if env is None else env)}
    command = [sys.executable, "-m", "torchrepro_lint", *arguments]
    if not preloaded.CAN_PRELOAD and before is None:
        return subprocess.run(command, cwd=cwd, capture_output=True, env=environment, check=False)
    _import()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: those of pytest-xdist wait for messages
        with _FORKING:
            child = os.fork()
        if not child:
            _become(arguments, cwd, environment, (out.fileno(), err.fileno()), before)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, status, out.read(), err.read())


@cache
def _import() -> None:
    """What a command imports when it runs: each fork would do so anew."""
    for package in (checks, fixing):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    import_module("torchrepro_lint.cli.run")
    import_module("torchrepro_lint.cli.check")


def _become(
    arguments: tuple[str, ...],
    cwd: Path,
    environment: Mapping[str, str],
    streams: tuple[int, int],
    before: Callable[[], object] | None,
) -> NoReturn:
    try:
        for number, opened in enumerate((os.open(os.devnull, os.O_RDONLY), *streams)):
            os.dup2(opened, number)
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [str(Path(cli.__file__).parents[1] / "__main__.py"), *arguments]
        if before is not None:
            before()
        cli.main()
    except SystemExit as ended:  # with a message
        print(ended.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        sys.stderr.flush()
        os._exit(1)
