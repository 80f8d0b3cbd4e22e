"""Runs a program on two machines at the same time, and compares what the runs computed.

What a run computed is what it printed, times left out, and every file that it saved, to the last bit.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .machines import Broken, Hung, Machine
from .program import Program

TIMES = re.compile(r"\d\d:\d\d(:\d\d)?|(\d+m )?\d+(\.\d+)?\s?(ms|s|sec|seconds|it/s)\b")


@dataclass(frozen=True)
class Outcome:
    printed: str
    saved: dict[str, str]  # path -> SHA-256 of the file

    def differences(self, other: Outcome) -> list[str]:
        """What is not the same: names of files, and the printed text."""
        files = [path for path in self.saved if self.saved[path] != other.saved[path]]
        return [*files, "printed text"] if self.printed != other.printed else files


def two_outcomes(program: Program, folder: Path, machines: list[Machine], scratch: Path) -> list[Outcome]:
    """What two runs of the program in `folder` come to, each in a copy of its own, both at the same time.

    Again where two kernels that run notebooks have chosen the same free port, which each does before it takes it; and
    where one does not end, as once in some hundred runs with gloo: PyTorch 2.13 takes a process group apart with
    Python's lock held and waits for one of its threads, which may wait for the lock.
    """
    try:
        return _outcomes(program, folder, machines, scratch / "first")
    except Broken as error:
        if not isinstance(error, Hung) and "Address already in use" not in str(error):
            raise
    for machine in machines:
        machine.stop()
    return _outcomes(program, folder, machines, scratch / "second")


def _outcomes(program: Program, folder: Path, machines: list[Machine], scratch: Path) -> list[Outcome]:
    copies = [Path(shutil.copytree(folder, scratch / f"machine{machine.number}")) for machine in machines]
    for machine, copy in zip(machines, copies, strict=True):
        machine.start(program.command, copy)
    printed = [machine.printed() for machine in machines]
    return [outcome(copy, text, program.saves) for copy, text in zip(copies, printed, strict=True)]


def outcome(folder: Path, printed: str, saves: Iterable[str]) -> Outcome:
    missing = [path for path in saves if not (folder / path).is_file()]
    if missing:
        raise Broken(f"the run did not save {', '.join(missing)}\n{printed}")
    without_times = TIMES.sub("-", printed.replace(str(folder), "-"))
    return Outcome(without_times, {path: digest(folder / path) for path in saves})


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
