#!/usr/bin/env python3
"""Hold the cache to its targets: what a run costs when nothing has changed, one file has, or a comment in a file that
all others import.

Works on a copy of a project, whose files are made old first, as they are where people work. Each figure is a ratio of
CPU times to a run that finds no cache, in the same round; medians are reported. Exits 1 where a target is missed.

    python benchmarks/cache.py ~/programs/pytorch_geometric --leaf examples/gcn.py --common torch_geometric/data/data.py
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from measuring import Command, Process, checked, linter, measure, parse
from torchrepro_lint.cache.storage import FOLDER

LONG_AGO = 1_600_000_000
TARGETS = {"warm": 0.08, "leaf": 0.12, "common": 0.15, "2 jobs": 0.6}
HOOK = 0.25  # seconds over `python -c pass`
PARSED = 0.3  # a warm run, of `ast.parse`


def main() -> int:
    """Measure one project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--leaf", required=True, help="a file that nothing imports")
    parser.add_argument("--common", required=True, help="a file that most others import")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, asked.project.name)
        shutil.copytree(asked.project, copy, symlinks=True, ignore=shutil.ignore_patterns(FOLDER))
        for path in copy.rglob("*"):
            os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
        rounds = [measured(copy, asked.leaf, asked.common, number) for number in range(asked.rounds)]
    return report(rounds)


def measured(root: Path, leaf: str, common: str, number: int) -> dict[str, Process]:
    """One round."""
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    runs = {"parse": measure(parse(checked(root), root)), "nothing": measure(Command([sys.executable, "-c", "pass"]))}
    runs["no cache"] = check(root, "--no-cache")
    runs["cold"] = check(root)
    runs["warm"] = check(root)
    edit(root / leaf, f"{{}}\nleaf_{number} = 1\n")
    runs["leaf"] = check(root)
    edit(root / common, f"# a comment, number {number}\n{{}}")
    runs["common"] = check(root)
    runs["hook"] = check(root, leaf)
    runs["2 jobs"] = check(root, "--no-cache", "--jobs", "2")
    return runs


def check(root: Path, *options: str) -> Process:
    """A run in one process unless the options say otherwise."""
    command = [*linter(), "check", "--exit-zero", "-q", "--output-format", "concise", "--jobs", "1", *options]
    return measure(Command(command, root))


def edit(path: Path, form: str) -> None:
    """Put the text of a file into a form, and let it be as old as before."""
    text = path.read_text(encoding="utf-8")
    path.write_text(form.replace("{}", text, 1), encoding="utf-8")
    os.utime(path, (LONG_AGO, LONG_AGO))


def report(rounds: list[dict[str, Process]]) -> int:
    """Print a table; 1 where a target is missed."""
    rows = [(f"{what} / cold", ratio(rounds, what, "cold"), target) for what, target in TARGETS.items()]
    rows[-1] = ("2 jobs / 1 job, elapsed", elapsed(rounds, "2 jobs", "no cache"), TARGETS["2 jobs"])
    rows.append(("warm / ast.parse", ratio(rounds, "warm", "parse"), PARSED))
    rows.append(("hook, seconds over python -c pass", median(r["hook"].cpu - r["nothing"].cpu for r in rounds), HOOK))
    rows.append(("cold / without a cache", ratio(rounds, "cold", "no cache"), 1.1))
    for what, found, target in rows:
        print(f"{what:36} {found:7.3f}   at most {target:.2f}   {'met' if found <= target else 'MISSED'}")
    print(f"{'peak memory, cold, MiB':36} {max(r['cold'].peak for r in rounds) / 2**20:7.0f}")
    return int(any(found > target for _, found, target in rows))


def ratio(rounds: list[dict[str, Process]], what: str, to: str) -> float:
    """Of CPU times within a round, the median."""
    return median(r[what].cpu / r[to].cpu for r in rounds)


def elapsed(rounds: list[dict[str, Process]], what: str, to: str) -> float:
    """Of elapsed times, which say nothing on a busy machine."""
    return median(r[what].wall / r[to].wall for r in rounds)


if __name__ == "__main__":
    sys.exit(main())
