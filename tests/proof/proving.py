"""The proof itself: two runs differ, the real command line fixes the program, two runs agree bit for bit."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import forked

from .machines import Broken, Machine
from .program import Program
from .runs import two_outcomes


@dataclass(frozen=True)
class Proof:
    fixed: list[str]  # rules that had something to say, and less after the fix
    unnamed: list[str]  # flaws of the program that the linter did not name
    before: list[str]  # what differed between the two runs
    after: list[str]
    seconds: float

    @property
    def holds(self) -> bool:
        """The weights and the printed losses differed, all flaws were named, and then nothing differed."""
        return len(self.before) > 1 and not self.after and not self.unnamed


def prove(program: Program, machines: list[Machine]) -> Proof:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        scratch = Path(name)
        plain = Path(shutil.copytree(program.folder, scratch / "plain", ignore=shutil.ignore_patterns("__pycache__")))
        if program.prepare:
            machines[0].start(program.prepare, plain)
            machines[0].printed()
        fixed = Path(shutil.copytree(plain, scratch / "fixed"))
        found = findings(fixed)
        left = findings(fixed, "--fix", *["--unsafe-fixes"] * program.unsafe)
        before = two_outcomes(program, plain, machines, scratch / "before")
        after = two_outcomes(program, fixed, machines, scratch / "after")
    return Proof(
        fixed=sorted(found - left),
        unnamed=sorted(set(program.flaws) - set(found)),
        before=before[0].differences(before[1]),
        after=after[0].differences(after[1]),
        seconds=time.perf_counter() - started,
    )


def findings(folder: Path, *options: str) -> Counter[str]:
    """How often each rule has something to say about the program, after the fixes if there are options for them."""
    done = forked.lint("check", ".", "--output-format", "json", *options, cwd=folder)
    if done.returncode not in (0, 1):
        raise Broken((done.stdout + done.stderr).decode())
    return Counter(finding["code"] for finding in json.loads(done.stdout))
