"""Fuzz for a while, or for hours: `python -m tests.fuzz --seconds 15`, `nice -n 19 python -m tests.fuzz --long`.

Each case is made from its number, so `--only KIND:NUMBER` shows it again. Cases run in forks of this process, a few in
each: so a crash of the interpreter is found as well. What breaks is kept in `tests/fuzz/found`, to be made smaller by hand
and put into `tests/fuzz/corpus`, which every run of the tests reads. `--long` counts in a file there, and goes on where it
was ended.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

from . import oracles
from .mutants import mutant
from .programs import program
from .surroundings import notebook, tree

FOUND = Path(__file__).parent / "found"
CHUNK = 100  # cases of one fork
WARM = 8  # cases of each kind that are run before the first fork, so that no fork has to import and read the same again
KEPT = 3  # cases of one problem
TOGETHER = 8  # mutants that are checked as one project


def mutants(random: Random, folder: Path) -> int:
    """Mutants as the files of one project; how many they are."""
    for number in range(TOGETHER):
        _write(folder / f"x{number}.py", mutant(random))
    return TOGETHER


def programs(random: Random, folder: Path) -> int:
    """One generated program."""
    for name, text in program(random).items():
        _write(folder / name, text)
    return 1


def notebooks(random: Random, folder: Path) -> int:
    """A notebook beside a file that imports it or not."""
    _write(folder / "n.ipynb", notebook(random))
    return 1


def trees(random: Random, folder: Path) -> int:
    """Folders with everything that may lie in them."""
    tree(random, folder)
    return 1


KINDS: dict[str, Callable[[Random, Path], int]] = {
    "mutants": mutants,
    "programs": programs,
    "notebooks": notebooks,
    "trees": trees,
}


def problems(kind: str, number: int) -> tuple[int, list[str]]:
    """How many inputs a case has, and what is wrong with it."""
    around = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_scratch()))
    folder = _new(around / "case")  # what lies beside a package is of its project: no other case may
    try:
        count = KINDS[kind](Random(f"{kind}:{number}"), folder)
        if kind != "trees":
            _write(folder / "pyproject.toml", "")
        return count, list(_of_case(kind, number, folder))
    finally:
        shutil.rmtree(around, ignore_errors=True)


def keep(kind: str, number: int) -> None:
    """The files of a case, as they were made."""
    kept = FOUND / f"{kind}-{number}"
    shutil.rmtree(kept, ignore_errors=True)
    KINDS[kind](Random(f"{kind}:{number}"), _new(kept))


def _of_case(kind: str, number: int, folder: Path) -> Iterator[str]:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    try:
        with oracles.limited():
            yield from oracles.of_check(folder, size, isolated=kind != "trees", again=number % 4 == 1)
            if kind in ("mutants", "programs") and number % 4 == 0:
                yield from oracles.of_fix(folder)
    except oracles.HangError:
        yield f"hang: {_where()}"
    except Exception:
        yield f"crash: {_where()}"


def _where() -> str:
    return " < ".join(line.strip() for line in reversed(traceback.format_exc(limit=-6).splitlines()))[:900]


def chunk(kind: str, first: int, send: int) -> None:
    """In a fork: check cases, and tell of each before it starts. What one case leaves behind goes with the process, so
    nothing is collected."""
    gc.disable()
    with open(send, "w", buffering=1, encoding="utf-8", errors="backslashreplace") as told:
        for number in range(first, first + CHUNK):
            told.write(f"start {number}\n")
            count, found = problems(kind, number)
            told.writelines(f"problem {problem}\n".replace("\n", " ").rstrip() + "\n" for problem in found)
            told.write(f"end {count}\n")


class Tally:
    """How many inputs of each kind were tried, in how much CPU time, and what was wrong: each problem with the first
    cases that have it. Kept in a file, where there is one."""

    def __init__(self, file: Path | None, first: int) -> None:
        self.file = file
        known = json.loads(file.read_text()) if file is not None and file.exists() else {}
        self.next: int = known.get("next", first)
        self.counts = Counter[str](known.get("counts", {}))
        self.seconds: float = known.get("seconds", 0.0)
        self.found: dict[str, list[str]] = known.get("found", {})

    def problem(self, kind: str, number: int, text: str) -> None:
        cases = self.found.setdefault(re.sub(r"\d+", "N", text)[:200], [])
        if len(cases) < KEPT:
            cases.append(f"{kind}:{number}")
            keep(kind, number)
            print(f"{kind}:{number}: {text}", flush=True)

    def save(self) -> None:
        if self.file is not None:
            self.file.parent.mkdir(exist_ok=True)
            state = {"next": self.next, "counts": self.counts, "seconds": self.seconds, "found": self.found}
            beside = self.file.with_suffix(".new")
            beside.write_text(json.dumps(state, indent=1))
            beside.replace(self.file)

    def summary(self) -> str:
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(self.counts.items()))
        return f"{self.counts.total()} inputs ({told}) in {self.seconds:.0f} s of CPU: {len(self.found)} problems"


def run(kinds: list[str], seconds: float, inputs: float, tally: Tally) -> None:
    """Try cases until so much time has passed, or so many inputs were tried."""
    for kind in kinds:
        for number in range(WARM):
            problems(kind, number)
    gc.freeze()
    end, told = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < end and tally.counts.total() < inputs:
        before = os.times()
        for kind in kinds:
            _run_chunk(kind, tally.next, end, tally)
        after = os.times()
        tally.seconds += after.children_user + after.children_system - before.children_user - before.children_system
        tally.next += CHUNK
        tally.save()
        if time.monotonic() - told > 300:
            told = time.monotonic()
            print(time.strftime("%H:%M"), tally.summary(), flush=True)


def _run_chunk(kind: str, first: int, end: float, tally: Tally) -> None:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        try:
            chunk(kind, first, send)
        finally:
            os._exit(0)
    os.close(send)
    number = first
    with open(receive, encoding="utf-8") as told:
        for line in told:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "start":
                number = int(rest)
                if time.monotonic() > end:
                    os.kill(child, 9)
                    break
            elif word == "end":
                tally.counts[kind] += int(rest)
            else:
                tally.problem(kind, number, rest)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != 9:
        tally.problem(kind, number, f"the interpreter ended by signal {os.WTERMSIG(status)}")


def _scratch() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def main() -> None:
    warnings.simplefilter("ignore")  # of the mutants
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="15 unless it is --long")
    parser.add_argument("--long", action="store_true", help="until it is ended, and on from there the next time")
    parser.add_argument("--inputs", type=float, default=float("inf"), help="end after so many, all runs together")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one case")
    asked = parser.parse_args()
    if asked.only:
        kind, _, number = asked.only.partition(":")
        found = problems(kind, int(number))[1]
        if found:
            keep(kind, int(number))
        print("\n".join(found) or "nothing wrong")
        return
    seconds = asked.seconds or (float("inf") if asked.long else 15)
    tally = Tally(FOUND / "tally.json" if asked.long else None, asked.first)
    with suppress(KeyboardInterrupt):
        run(asked.kind or list(KINDS), seconds, asked.inputs, tally)
    print(tally.summary())
    sys.exit(bool(tally.found))


if __name__ == "__main__":
    main()
