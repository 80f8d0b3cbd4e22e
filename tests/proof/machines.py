"""Two machines that run programs, and differ in what machines may differ in.

That is the hash seed, the order in which folders are listed, and of course the time and the process ids. Each runs one
program at a time, in a process of its own: of the preloaded interpreter, a fork of one with the machine's hash seed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import preloaded

from .program import argv

HERE = Path(__file__).parent / "machine"
SECONDS = 120  # ten times what the slowest program needs: a run that hangs must not hang the tests


class Broken(AssertionError):
    """A program that did not do its work: nothing is proven either way."""


class Hung(Broken):
    """A program that did not end."""


class Machine:
    def __init__(self, number: int, python: str = sys.executable) -> None:
        self.number, self.python = number, python
        self.run: subprocess.Popen[bytes] | None = None

    def start(self, command: str, folder: Path) -> None:
        """Starts a command, as a user types it; what it prints goes to files beside the folder."""
        self.stop()  # a run that hangs, or whose result nobody asked for
        self.out, self.err = folder.with_name(f"{folder.name}.out"), folder.with_name(f"{folder.name}.err")
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.run = subprocess.Popen(
                argv(command, self.python),
                cwd=folder,
                env={**os.environ, **environment(self.number)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def printed(self) -> str:
        """What the started program printed, once it has ended."""
        assert self.run is not None
        try:
            status = self.run.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise Hung(f"the run did not end within {SECONDS} s") from None
        out = self.out.read_text(encoding="utf-8")
        if status != 0:
            raise Broken(f"exit status {status}\n{out}\n{self.err.read_text(encoding='utf-8')}")
        return out

    def stop(self) -> None:
        """Ends what still runs on it."""
        if self.run is not None and self.run.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.run.pid, signal.SIGKILL)
            self.run.wait()


def environment(number: int) -> dict[str, str]:
    """The environment variables that make this interpreter one of the two machines."""
    return {
        "PYTHONHASHSEED": str(number % 2),  # those of a rerun's two runs: each seed has a preloaded interpreter
        "LISTING_ORDER": f"machine {number}",
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }


@contextmanager
def two_machines(python: str | None = None) -> Iterator[list[Machine]]:
    """Two machines with this interpreter, by default the preloaded one."""
    machines = [Machine(number, python or preloaded.python()) for number in (1, 2)]
    try:
        yield machines
    finally:
        for machine in machines:
            machine.stop()
