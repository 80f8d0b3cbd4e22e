"""Two machines that run programs, and differ in what machines may differ in.

That is the hash seed, the order in which folders are listed, and of course the time and the process ids. Each runs one
program at a time, in a process of its own; `machine/runner.py` says what the processes of one machine share.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .program import argv

HERE = Path(__file__).parent / "machine"
SECONDS = 400  # far more than any program needs: a run that hangs must not hang the tests
CAN_PRELOAD = sys.platform == "linux"  # elsewhere the libraries that PyTorch loads may not bear a fork


class Broken(AssertionError):
    """A program that did not do its work: nothing is proven either way."""


class Machine:
    def __init__(self, number: int, preload: bool) -> None:
        self.number, self.preload = number, preload
        self.boot()

    def boot(self) -> None:
        self.runner = subprocess.Popen(
            [sys.executable, HERE / "runner.py", *["--preload"] * self.preload],
            env={**os.environ, **environment(self.number)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.busy = False

    def start(self, command: str, folder: Path) -> None:
        """Starts a command, as a user types it; what it prints goes to files beside the folder."""
        if self.busy:  # with a run that hangs, or whose result nobody asked for
            self.stop()
            self.boot()
        self.out, self.err = folder.with_name(f"{folder.name}.out"), folder.with_name(f"{folder.name}.err")
        request = {"argv": argv(command), "folder": str(folder), "out": str(self.out), "err": str(self.err)}
        assert self.runner.stdin
        self.runner.stdin.write(json.dumps(request) + "\n")
        self.runner.stdin.flush()
        self.busy = True

    def printed(self) -> str:
        """What the started program printed, once it has ended."""
        assert self.runner.stdout
        if not select.select([self.runner.stdout], [], [], SECONDS)[0]:
            raise Broken(f"the run did not end within {SECONDS} s")
        status, out = self.runner.stdout.readline().strip(), self.out.read_text(encoding="utf-8")
        self.busy = False
        if status != "0":
            raise Broken(f"exit status {status}\n{out}\n{self.err.read_text(encoding='utf-8')}")
        return out

    def stop(self) -> None:
        """Ends all that runs on it."""
        os.killpg(self.runner.pid, signal.SIGKILL)
        self.runner.communicate()


def environment(number: int) -> dict[str, str]:
    """The environment variables that make this interpreter one of the two machines."""
    return {
        "PYTHONHASHSEED": str(number),
        "LISTING_ORDER": f"machine {number}",
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }


@contextmanager
def two_machines(preload: bool = CAN_PRELOAD) -> Iterator[list[Machine]]:
    machines = [Machine(number, preload) for number in (1, 2)]
    try:
        yield machines
    finally:
        for machine in machines:
            machine.stop()
