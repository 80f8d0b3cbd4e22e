#!/usr/bin/env python3
"""How CPU time grows with the number of programs that share a library, which stays as it is.

The project is generated: a library of 400 modules, and 1, 10, 100 and 400 training scripts that use it. Each size is
linted in a process of its own, in turn with `ast.parse` of the same files in another; medians are reported. The last
two columns are the slope: what each further program cost since the row above.

    python benchmarks/entry_points.py
    python benchmarks/entry_points.py --programs 1 40 --rounds 1 --keep /tmp/generated    # to look at the project
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import generated
from measuring import Cost, cost

MODULES = 400
PROGRAMS = (1, 10, 100, 400)
HEAD = (
    f"{'programs':>8} {'files':>6} {'ast.parse':>11} {'check':>10} {'ratio':>8} {'peak':>10}"
    f" {'check, 1 more':>17} {'parse, 1 more':>15}"
)


def sizes(folder: Path, programs: Sequence[int], rounds: int) -> Iterator[tuple[int, Cost]]:
    """Write the project to `folder`, ever more programs, and measure each size."""
    generated.write(folder, generated.library(MODULES))
    done = 0
    for count in sorted(programs):
        generated.write(folder, (generated.program(n, MODULES) for n in range(done, count)))
        done = count
        yield count, cost(folder, rounds)


def rows(measured: Iterable[tuple[int, Cost]]) -> Iterator[str]:
    """A line for each size, with the slope since the size before."""
    fewer: tuple[int, Cost] | None = None
    for programs, now in measured:
        yield (
            f"{programs:>8,} {now.files:>6,} {now.parse_time:>9.2f} s {now.check_time:>8.2f} s {now.ratio:>7.1f}x"
            f" {now.peak:>6.0f} MiB{_slope(*fewer, programs, now) if fewer else ''}"
        )
        fewer = programs, now


def _slope(fewer: int, before: Cost, programs: int, now: Cost) -> str:
    check = 1000 * (now.check_time - before.check_time) / (programs - fewer)
    parse = 1000 * (now.parse_time - before.parse_time) / (programs - fewer)
    return f"{check:>15.1f} ms {parse:>12.1f} ms"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--programs", type=int, nargs="+", default=PROGRAMS, metavar="N", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair runs (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the project there and leave it")
    options = parser.parse_args(arguments)
    if options.keep and options.keep.exists():
        parser.error(f"{options.keep} is there already")
    with nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory() as folder:
        print(HEAD, flush=True)
        for line in rows(sizes(Path(folder).resolve(), options.programs, options.rounds)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
