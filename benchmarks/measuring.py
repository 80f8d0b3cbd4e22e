"""What a command costs: CPU time and memory of a child process; and a check beside `ast.parse` of the same files.

The linter runs as a user runs it: as a subprocess, from the command line. Knows no package, no repository and nothing
of the linter's inside. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

# The paths come one a line on the standard input: thousands of them are too long for a command line. What is no
# Python of this version (a template, say) is read as far as it goes, as the linter does.
_PARSE_ALL = """\
import ast, sys
for path in sys.stdin.read().splitlines():
    try:
        with open(path, "rb") as file:
            ast.parse(file.read())
    except (SyntaxError, ValueError):
        pass
"""


@dataclass(frozen=True)
class Process:
    """How a finished subprocess did; `peak` in bytes, times in seconds, `cpu` = user + system."""

    code: int
    wall: float
    cpu: float
    peak: int


@dataclass(frozen=True)
class Command:
    """What is run, where, what it reads, and the exit code that means that it did its work; None where that tells what
    was found."""

    arguments: Sequence[str]
    folder: Path | None = None
    stdin: bytes = b""
    code: int | None = 0


def environment() -> dict[str, str]:
    """This environment, but that bytecode is kept, as it is where a tool was installed."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(command: Command, stdout: Path | None = None) -> Process:
    """Run `command` to its end, quietly; its output goes to `stdout` where that is given.

    A run that crashes is quick: an exit code other than the command's, or a traceback, ends the measurement.
    """
    with (
        (stdout or Path(os.devnull)).open("wb") as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as given,
    ):
        given.write(command.stdin)
        given.seek(0)
        begin = time.perf_counter()
        child = subprocess.Popen(
            command.arguments, cwd=command.folder, stdin=given, stdout=out, stderr=err, env=environment()
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode(errors="replace")
    if command.code not in (child.returncode, None) or "Traceback" in said:
        raise SystemExit(f"{said}\nexit code {child.returncode} from {' '.join(command.arguments)[:200]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Process(child.returncode, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def in_turn(rounds: int, *commands: Command) -> list[list[Process]]:
    """Run each command once a round; the runs of each command."""
    runs = [[measure(command) for command in commands] for _ in range(rounds)]
    return [list(column) for column in zip(*runs, strict=True)]


def linter() -> list[str]:
    """The linter's command: the script beside this Python, as a user would start it."""
    script = Path(sys.executable).with_name("torchrepro-lint")
    return [str(script)] if script.exists() else [sys.executable, "-m", "torchrepro_lint"]


def check(*paths: object, folder: Path | None = None, code: int = 0) -> Command:
    """Lint `paths`. Where a file is no Python, `code` is 2."""
    options = ["--exit-zero", "--no-cache", "--jobs", "1"]  # else a second round would be told what the first has found
    return Command([*linter(), "check", *options, *map(str, paths)], folder, code=code)


def parse(modules: Iterable[Path], folder: Path | None = None) -> Command:
    """Parse `modules`, which may be relative to `folder`, with `ast.parse` and do nothing else."""
    paths = "\n".join(str(path) for path in modules if path.suffix == ".py")
    return Command([sys.executable, "-W", "ignore", "-c", _PARSE_ALL], folder, paths.encode())


def checked(folder: Path) -> list[Path]:
    """The files that a check of `folder` reports on, relative to it."""
    command = [*linter(), "check", "--show-files", "."]
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [Path(line) for line in shown.stdout.splitlines()]


@dataclass(frozen=True)
class Cost:
    """What a check of some files cost, round by round, beside `ast.parse` of the same files."""

    files: int
    parses: list[Process]
    checks: list[Process]

    @property
    def parse_time(self) -> float:
        """CPU seconds, the median of the rounds."""
        return median(run.cpu for run in self.parses)

    @property
    def check_time(self) -> float:
        """CPU seconds, the median of the rounds."""
        return median(run.cpu for run in self.checks)

    @property
    def ratio(self) -> float:
        """Of the CPU times within a round, the median of the rounds."""
        return median(ours.cpu / theirs.cpu for theirs, ours in zip(self.parses, self.checks, strict=True))

    @property
    def peak(self) -> float:
        """The most memory that a check took, in MiB."""
        return max(run.peak for run in self.checks) / 2**20


def cost(folder: Path, rounds: int, code: int = 0) -> Cost:
    """Parse and check what is in `folder`, in turn; the check ends with `code`."""
    files = checked(folder)
    parses, checks = in_turn(rounds, parse(files, folder), check(".", folder=folder, code=code))
    return Cost(len(files), parses, checks)
