#!/usr/bin/env python3
"""Fix copies of real packages and look at what comes out: does it compile, does git take the patch, is it good?

Each package is copied to a scratch folder; the linter makes its patch there as a user would, from the command
line. Standard library only. Knows no rule, and nothing of the linter's inside.

    python benchmarks/fixes.py ~/.cache/torchrepro-lint-corpus/packages/*           # a table
    python benchmarks/fixes.py packages/timm-1.0.31 --unsafe --sample 20 --seed 1   # 20 hunks to judge
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINTER = [sys.executable, "-m", "torchrepro_lint"]
_SUMMARIES = (" would fix ", ": nothing to check: ")


@dataclass(frozen=True)
class Outcome:
    """What fixing one package came to: its hunks, and everything that went wrong."""

    name: str
    files: int
    hunks: list[str]
    problems: list[str]


def fix(package: Path, *, unsafe: bool, twice: bool) -> Outcome:
    """Fix a copy of a package; `twice` also fixes it in place and compares that with the patch."""
    with tempfile.TemporaryDirectory(prefix="fixes-") as scratch:
        patched, fixed = Path(scratch, "patched"), Path(scratch, "fixed")
        shutil.copytree(package, patched, symlinks=True)
        shutil.copytree(package, fixed, symlinks=True)
        flags = ["--unsafe-fixes"] if unsafe else []
        patch = _lint(patched, "--diff", *flags)
        said = patch.stderr.decode().splitlines()
        problems = [f"lint: {line}" for line in said if not any(word in line for word in _SUMMARIES)]
        problems += _apply(patched, patch.stdout)
        changed = re.findall(r"^\+\+\+ b/([^\t\n]+)", patch.stdout.decode(), re.MULTILINE)
        problems += [p for rel in changed for p in _compiled(patched / rel)]
        if twice:
            _lint(fixed, "--fix-only", *flags)
            problems += [f"{rel}: --fix and --diff differ" for rel in _differing(patched, fixed)]
            again = _lint(fixed, "--diff", *flags)
            problems += [f"fixed twice: {line}" for line in again.stdout.decode().splitlines() if line[:3] == "+++"]
        return Outcome(package.name, len(changed), list(_hunks(package.name, patch.stdout.decode())), problems)


def _lint(folder: Path, *flags: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*LINTER, *flags, "."], cwd=folder, capture_output=True, check=False)


def _apply(folder: Path, patch: bytes) -> list[str]:
    if not patch:
        return []
    apply = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn"]
    for flags in (["--check"], []):
        done = subprocess.run([*apply, *flags, "-"], cwd=folder, input=patch, capture_output=True, check=False)
        if done.returncode:
            return [f"git apply: {line}" for line in done.stderr.decode().splitlines()]
    return []


def _compiled(path: Path) -> list[str]:
    if path.suffix == ".ipynb":
        return []
    try:
        compile(path.read_bytes(), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return [f"{path.name}: {error}"]
    return []


def _differing(one: Path, other: Path) -> Iterator[str]:
    for path in sorted(p for p in one.rglob("*") if p.is_file()):
        rel = path.relative_to(one)
        if path.read_bytes() != (other / rel).read_bytes():
            yield str(rel)


def _hunks(package: str, patch: str) -> Iterator[str]:
    header = ""
    for part in re.split(r"(?m)^(?=--- a/|@@ )", patch):
        if part.startswith("--- "):
            header = part
        elif part:
            yield f"{package}: {header.splitlines()[1]}\n{part}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", type=Path)
    parser.add_argument("--unsafe", action="store_true", help="the unsafe fixes too")
    parser.add_argument("--twice", action="store_true", help="also compare with --fix, and fix again")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="print N hunks")
    parser.add_argument("--seed", type=int, default=0, help="which hunks")
    options = parser.parse_args()
    hunks: list[str] = []
    problems = 0
    for package in options.packages:
        outcome = fix(package.resolve(), unsafe=options.unsafe, twice=options.twice)
        hunks += outcome.hunks
        problems += len(outcome.problems)
        print(f"{outcome.name:40} {outcome.files:5} files {len(outcome.hunks):5} hunks", flush=True)
        for problem in outcome.problems:
            print(f"    {problem}", flush=True)
    print(f"{len(hunks)} hunks, {problems} problems")
    for hunk in random.Random(options.seed).sample(hunks, min(options.sample, len(hunks))):
        print(f"\n{hunk}", end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
