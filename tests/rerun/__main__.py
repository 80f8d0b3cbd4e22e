"""Reruns the programs of the proof: `python -m tests.rerun`, or with names of programs; with `--steps N` less of each.

As it is, a program must part, and a finding of the linter name each cause; with the fixes it must be IDENTICAL. Prints
one line per program, below it each cause that no finding names, and exits with 1 where a program does not do so. With
`--fresh`, no run shares an imported PyTorch with another: each starts an interpreter of its own, which takes longer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.proof.program import Program, argv, names

import preloaded

WIDTH = max(map(len, names()))
SECONDS = 3600


@dataclass(frozen=True)
class Rerun:
    """The reports on a program as it is and with the fixes, and how long both took together."""

    before: dict[str, Any]
    after: dict[str, Any]
    seconds: float

    @property
    def unnamed(self) -> list[dict[str, Any]]:
        """The causes that no finding names."""
        return [cause for cause in self.before["causes"] if not cause["predicted_by"]]

    @property
    def holds(self) -> bool:
        return self.before["verdict"] == "PARTED" and bool(self.before["causes"]) and self.is_mended

    @property
    def is_mended(self) -> bool:
        return bool(self.after["verdict"] == "IDENTICAL")


def rerun(program: Program, python: str, *limit: str) -> Rerun:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="rerun-") as name:
        plain = Path(shutil.copytree(program.folder, Path(name) / "plain"))
        if program.prepare:
            subprocess.run(argv(program.prepare, python), cwd=plain, check=True, capture_output=True)
        fixed = Path(shutil.copytree(plain, Path(name) / "fixed"))
        options = ["--fix", "--exit-zero", *["--unsafe-fixes"] * program.unsafe]
        lint = [python, "-m", "torchrepro_lint", "check", ".", *options]
        subprocess.run(lint, cwd=fixed, check=True, capture_output=True)
        reports = [report(folder, program, python, *limit) for folder in (plain, fixed)]
    return Rerun(*reports, time.perf_counter() - started)


def report(folder: Path, program: Program, python: str, *limit: str) -> dict[str, Any]:
    options = ["--output-format", "json", "--copy", "--shuffle-listing", *limit]
    line = [python, "-m", "torchrepro_lint", "rerun", *options, "--", *argv(program.command, python)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    if not done.stdout:
        raise SystemExit(f"{program.name}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows(name: str, found: Rerun) -> Iterator[str]:
    before, after = found.before, found.after
    causes = ", ".join(told(cause) for cause in before["causes"]) or reason(before)
    yield row(name, before["verdict"], after["verdict"], f"{found.seconds:.0f}", causes)
    for cause in found.unnamed:
        yield f"  no finding names {cause['path']}:{cause['line']}: {cause['detail']}"
    if not found.is_mended:
        left = [f"{told(c)} at {c['path']}:{c['line']}: {c['detail']}" for c in after["causes"]]
        yield f"  with the fixes: {'; '.join(left) or reason(after)}"


def reason(report: dict[str, Any]) -> str:
    return str(report["reason"]).splitlines()[0]


def told(cause: dict[str, Any]) -> str:
    what = cause["generator"] or cause["source"] or cause["operation"] or ""
    codes = " ".join(dict.fromkeys(finding["code"] for finding in cause["predicted_by"])) or "unnamed"
    return f"{cause['verdict']} {what} ({codes})".replace("  ", " ")


def row(name: str, before: str, after: str, seconds: str, causes: str) -> str:
    return f"{name:{WIDTH}}  {before:9}  {after:9}  {seconds:>7}  {causes}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names())
    parser.add_argument("--steps", metavar="N", help="stop each process after so many optimizer steps")
    parser.add_argument("--fresh", action="store_true", help="start an interpreter for each run")
    options = parser.parse_args(arguments)
    chosen, limit = options.names, ["--steps", options.steps] if options.steps else []
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        print(f"no such program: {', '.join(unknown)}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    print(row("program", "as it is", "fixed", "seconds", "causes"))
    with preloaded.provided():
        python = sys.executable if options.fresh else preloaded.python()
        held = [shown(Program.read(name), python, limit) for name in chosen]
    return 0 if all(held) else 1


def shown(program: Program, python: str, limit: list[str]) -> bool:
    """Whether the claim holds of a program, or cannot be tried here; prints what came of it."""
    if program.missing:
        print(f"{program.name:{WIDTH}}  skipped: {', '.join(program.missing)} is not installed")
        return True
    found = rerun(program, python, *limit)
    print("\n".join(rows(program.name, found)), flush=True)
    return found.holds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
