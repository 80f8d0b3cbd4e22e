"""Runs a program twice, as on two machines, and compares what the runs computed.

The machines differ in what a machine may differ in: the hash seed, the order in which folders are listed, and of
course the time and the process ids. What a run computed is what it printed, times left out, and every file that
it saved, to the last bit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .program import Program, argv

MACHINE = Path(__file__).parent / "machine"
SECONDS = 400  # far more than any program needs: a run that hangs must not hang the tests
TIMES = re.compile(r"\d\d:\d\d(:\d\d)?|(\d+m )?\d+(\.\d+)?\s?(ms|s|sec|seconds|it/s)\b")


class Broken(AssertionError):
    """A program that did not do its work: nothing is proven either way."""


@dataclass(frozen=True)
class Outcome:
    printed: str
    saved: dict[str, str]  # path -> SHA-256 of the file

    def differences(self, other: Outcome) -> list[str]:
        """What is not the same: names of files, and the printed text."""
        files = [path for path in self.saved if self.saved[path] != other.saved[path]]
        return [*files, "printed text"] if self.printed != other.printed else files


def two_outcomes(program: Program, folder: Path, scratch: Path) -> list[Outcome]:
    """What two runs of the program in `folder` come to, each in a copy of its own, both at the same time."""
    copies = [Path(shutil.copytree(folder, scratch / f"machine{number}")) for number in (1, 2)]
    runs = [start(program.command, copy, number) for number, copy in enumerate(copies, 1)]
    try:
        printed = [finish(run) for run in runs]
    finally:
        for run in runs:
            run.kill()
    return [outcome(copy, text, program.saves) for copy, text in zip(copies, printed, strict=True)]


def machine(number: int) -> dict[str, str]:
    """The environment variables that make this interpreter one of the two machines."""
    return {
        "PYTHONHASHSEED": str(number),
        "LISTING_ORDER": f"machine {number}",
        "PYTHONPATH": str(MACHINE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }


def start(command: str, folder: Path, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        argv(command),
        cwd=folder,
        env={**os.environ, **machine(number)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(run: subprocess.Popen[str]) -> str:
    try:
        out, err = run.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Broken(f"the run did not end within {SECONDS} s") from None
    if run.returncode != 0:
        raise Broken(f"exit status {run.returncode}\n{out}\n{err}")
    return out


def outcome(folder: Path, printed: str, saves: Iterable[str]) -> Outcome:
    missing = [path for path in saves if not (folder / path).is_file()]
    if missing:
        raise Broken(f"the run did not save {', '.join(missing)}\n{printed}")
    without_times = TIMES.sub("-", printed.replace(str(folder), "-"))
    return Outcome(without_times, {path: digest(folder / path) for path in saves})


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
