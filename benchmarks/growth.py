#!/usr/bin/env python3
"""How time and memory grow with the project: one package, and an eighth, a quarter and a half of its files.

Each part is linted in a process of its own, after `ast.parse` read the same files in another; what is compared is
CPU time. The parts are nested, and the files in each are spread over the package. What a part lacks is external to it.

    python benchmarks/growth.py transformers espnet
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import corpus
from measuring import Cost, cost

PARTS = (8, 4, 2, 1)


@dataclass(frozen=True)
class Row:
    """One part of a package: how much there is, and what it cost."""

    lines: int
    cost: Cost

    def __str__(self) -> str:
        cost = self.cost
        per_file = 1000 * cost.check_time / cost.files
        return (
            f"{cost.files:>7,} {self.lines:>11,} {cost.parse_time:>9.1f} s {cost.check_time:>9.1f} s"
            f" {cost.ratio:>7.1f}x {per_file:>8.1f} ms {cost.peak:>8.0f} MiB"
        )


HEAD = f"{'files':>7} {'lines':>11} {'ast.parse':>11} {'check':>11} {'ratio':>8} {'per file':>11} {'peak':>12}"


def grown(folder: Path, scratch: Path) -> Iterator[Row]:
    """Lint ever more of a package, which is copied to `scratch` bit by bit."""
    spread = sorted(corpus.sources([folder]), key=lambda path: crc32(str(path.relative_to(folder)).encode()))
    (scratch / "pyproject.toml").write_text("")
    done = 0
    for part in PARTS:
        upto = -(-len(spread) // part)
        for path in spread[done:upto]:
            target = scratch / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        done = upto
        yield _measured(scratch)


def _measured(folder: Path) -> Row:
    lines = sum(path.read_bytes().count(b"\n") for path in corpus.sources([folder]))
    return Row(lines, cost(folder, rounds=1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("packages", nargs="*", default=["transformers"], metavar="PACKAGE")
    parser.add_argument("--cache", type=Path, default=corpus.DEFAULT_CACHE)
    options = parser.parse_args(arguments)
    for name, folder in zip(options.packages, corpus.fetch(options.cache.resolve(), options.packages), strict=True):
        print(f"{name}\n{HEAD}", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            for row in grown(folder, Path(scratch)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
