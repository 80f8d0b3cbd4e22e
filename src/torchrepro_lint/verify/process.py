"""A worker process seen from outside: asked, waited for, and killed when it takes too long.

Knows lines of JSON and processes; nothing of what they are about.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torchrepro_lint

_PACKAGE = Path(torchrepro_lint.__file__)
_HOME = Path(_PACKAGE.anchor)  # nothing is imported from the user's folder, which a relative PYTHONPATH may name
_PATIENCE = 10.0  # seconds in which a process that was killed ends: one that waits for a broken driver may not
_TAIL = 1 << 16  # bytes of the standard error
_TRACE = "Traceback (most recent call last):"
_LONGEST = 200  # characters of an error


def command_of(package: Path = _PACKAGE, module: str = "worker") -> tuple[str, ...]:
    """Starts a worker, or another module of `verify`, of the package whose `__init__.py` this is.

    The package is imported from where it lies, and nothing else from the folder around it: a file `pathlib.py` there is
    the backport that some environments have, and would be taken for Python's own.
    """
    folder = str(package.parent)
    script = f"""\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("torchrepro_lint", {str(package)!r}, submodule_search_locations=[{folder!r}])
sys.modules["torchrepro_lint"] = package = module_from_spec(spec)
spec.loader.exec_module(package)
from torchrepro_lint.verify.{module} import main
main(sys.argv[1:])
"""
    return sys.executable, "-c", script


def command_of_peer(*arguments: str) -> tuple[str, ...]:
    """Starts another rank of a process group."""
    return (*command_of(_PACKAGE, "peer"), *arguments)


class Died(Exception):
    """The worker ended, or was ended; the message says why."""


class Process:
    """One worker. Used by one thread at a time, except for `kill`."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `kill`)
        self._late: float | None = None
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=_HOME,
            encoding="utf-8",
            start_new_session=True,  # so that it is killed with the processes that it has started
        )

    def hello(self, timeout: float) -> dict[str, Any]:
        """What it says once it is ready. Raises Died."""
        with self._deadline(timeout):
            return self._line()

    def ask(self, request: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
        """Its answers as they come, each within the timeout. Raises Died, maybe after some of them."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Died(self._reason()) from None
        while True:
            with self._deadline(timeout):
                answer = self._line()
            if answer.get("done"):
                return
            yield answer

    def kill(self) -> None:
        """End it now, and release what it held."""
        self._end()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):  # a request may still be on its way
                if stream is not None:
                    stream.close()
        self._errors.close()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except ValueError:  # another thread has ended the process, and closed this
            raise Died("was ended") from None
        if not line.endswith("\n"):  # the pipe has ended, perhaps in the middle of an answer
            raise Died(self._reason())
        answer: dict[str, Any] = json.loads(line)
        return answer

    @contextmanager
    def _deadline(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._expire, (seconds,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self, seconds: float) -> None:
        self._late = seconds
        self._end()

    def _end(self) -> None:
        """Kill it and what it has started: a child that holds its output open would be waited for."""
        if self._process.poll() is not None or not hasattr(os, "killpg"):
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def _reason(self) -> str:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._end()
            return "closed its output and did not end"
        if self._late is not None:
            return f"took longer than {self._late:g} s"
        if code < 0:
            name, error = signal.Signals(-code).name, self._exception()
            after = f" after {error}" if error else ", perhaps for want of memory" if name == "SIGKILL" else ""
            return f"killed by {name}{after}"
        return f"ended by {self._exception() or self._last_words()}" if code else "ended early"

    def _exception(self) -> str | None:
        """The first line of what was raised last: a GPU's errors go on with advice."""
        _, found, trace = self._end_of_errors().rpartition(_TRACE)
        raised = (line for line in trace.splitlines()[1:] if line[:1].strip())
        return next(raised, "")[:_LONGEST] or None if found else None

    def _last_words(self) -> str:
        lines = self._end_of_errors().strip().splitlines()
        return lines[-1][:_LONGEST] if lines else "an error"

    def _end_of_errors(self) -> str:
        end = self._errors.seek(0, 2)
        self._errors.seek(max(end - _TAIL, 0))
        return self._errors.read().decode(errors="replace")
