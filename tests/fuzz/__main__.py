"""Fuzz for a while, or for hours: `python -m tests.fuzz --seconds 15`, `python -m tests.fuzz --long --kind programs`.

Each case is made from its number, so `--only KIND:NUMBER` shows it again. Cases run in forks of this process, a few in
each: so a crash of the interpreter is found as well. What breaks is kept in `tests/fuzz/found`, to be made smaller by hand
and put into `tests/fuzz/corpus`, which every run of the tests reads.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from . import oracles
from .mutants import mutant
from .programs import program
from .seeds import expressions, sources, statements
from .surroundings import notebook, tree

FOUND = Path(__file__).parent / "found"
CHUNK = 25  # cases of one fork
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
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_scratch()))
    try:
        count = KINDS[kind](Random(f"{kind}:{number}"), folder)
        if kind != "trees":
            _write(folder / "pyproject.toml", "")
        found = list(_of_case(kind, number, folder))
        if found:
            kept = FOUND / f"{kind}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            KINDS[kind](Random(f"{kind}:{number}"), _new(kept))
        return count, found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _of_case(kind: str, number: int, folder: Path) -> Iterator[str]:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    try:
        with oracles.limited():
            yield from oracles.of_check(folder, size, isolated=kind != "trees")
            if kind in ("mutants", "programs") and number % 4 == 0:
                yield from oracles.of_fix(folder)
    except oracles.HangError:
        yield f"hang: {_where()}"
    except Exception:
        yield f"crash: {_where()}"


def _where() -> str:
    return " < ".join(line.strip() for line in reversed(traceback.format_exc(limit=-6).splitlines()))[:900]


def chunk(kind: str, first: int, send: int) -> None:
    """In a fork: check cases, and tell of each before it starts."""
    with open(send, "w", buffering=1, encoding="utf-8", errors="backslashreplace") as told:
        for number in range(first, first + CHUNK):
            told.write(f"start {number}\n")
            count, found = problems(kind, number)
            told.writelines(f"problem {problem}\n".replace("\n", " ").rstrip() + "\n" for problem in found)
            told.write(f"end {count}\n")


def run(kinds: list[str], seconds: float, first: int) -> tuple[Counter[str], list[str]]:
    """How many inputs of each kind were tried, and what was wrong, each problem with the case that has it."""
    for warm in (sources, statements, expressions):
        warm()
    counts: Counter[str] = Counter()
    found: list[str] = []
    end, at = time.monotonic() + seconds, first
    while time.monotonic() < end:
        for kind in kinds:
            _run_chunk(kind, at, end, counts, found)
        at += CHUNK
    return counts, found


def _run_chunk(kind: str, first: int, end: float, counts: Counter[str], found: list[str]) -> None:
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
                counts[kind] += int(rest)
            else:
                found.append(f"{kind}:{number}: {rest}")
                print(found[-1], flush=True)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != 9:
        found.append(f"{kind}:{number}: the interpreter ended by signal {os.WTERMSIG(status)}")
        print(found[-1], flush=True)


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
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--long", action="store_true", help="for eight hours, with other cases on each day")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one case")
    asked = parser.parse_args()
    if asked.only:
        kind, _, number = asked.only.partition(":")
        print("\n".join(problems(kind, int(number))[1]) or "nothing wrong")
        return
    first = int(time.time()) // 86400 * 1_000_000 if asked.long else asked.first
    start = time.monotonic()
    counts, found = run(asked.kind or list(KINDS), 8 * 3600 if asked.long else asked.seconds, first)
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    print(f"{sum(counts.values())} inputs ({told}) in {time.monotonic() - start:.0f} s: {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
