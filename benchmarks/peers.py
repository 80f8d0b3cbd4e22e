#!/usr/bin/env python3
"""What this linter and its peers cost on the same files, and how much of what they report is about reproducibility.

One run of each, in turn, as its users run it but in one process where it can be asked for; CPU time, beside `ast.parse`
of the same files. A tool that is not installed or fails is left out, and said to be; EXAM_<TOOL> names a program in
another environment, as for the exam, which says how the tools are run and read.

    EXAM_TORCHFIX=~/tf/bin/torchfix python benchmarks/peers.py ~/programs/accelerate
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "exam"))

from measuring import Command, checked, measure, parse
from scoring import Report
from tools import TOOLS, UNKNOWN, Tool


def no_claims(*_: object) -> Iterator[Report]:
    """None of the tool's rules is about reproducibility."""
    return iter(())


OTHERS = (
    Tool("fixit", "fixit", ("lint",), no_claims, distribution="fixit"),
    Tool("torchfix", "torchfix", ("--select=ALL", "-j1"), no_claims, distribution="TorchFix"),
)
OURS = TOOLS[0]


def rows(folder: Path, scratch: Path) -> Iterator[tuple[str, float, int]]:
    """What each was, its CPU seconds, and its reports about reproducibility."""
    yield "`ast.parse`", measure(parse(checked(folder), folder)).cpu, 0
    for tool in (*TOOLS, *OTHERS):
        path = tool.path()
        if path is None:
            print(f"SKIPPED {tool.name}: `{tool.program}` is not installed", file=sys.stderr)
            continue
        version = tool.told_version(path)
        if tool.distribution and version == UNKNOWN:
            print(f"SKIPPED {tool.name}: {tool.distribution} is not installed beside `{tool.program}`", file=sys.stderr)
            continue
        output = scratch / tool.name
        run = measure(Command([path, *tool.arguments, "."], folder, code=None), output)
        if run.code and not output.stat().st_size:  # a tool that fails is quick
            print(f"FAILED {tool.name}: exit code {run.code}, and nothing is reported", file=sys.stderr)
            continue
        reports = list(tool.read(output.read_text(encoding="utf-8", errors="replace"), folder))
        yield f"{tool.name} {version}", run.cpu, len(reports)
    with_cache = Command([OURS.path() or OURS.program, "check", "--exit-zero", "--jobs=1", "."], folder)
    measure(with_cache)
    yield f"{OURS.name}, nothing changed since", measure(with_cache).cpu, 0


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a checkout, which is copied")
    asked = parser.parse_args()
    print("| tool | CPU, s | of `ast.parse` | reports about reproducibility |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, asked.folder.name)
        shutil.copytree(asked.folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".torchrepro_cache"))
        base = 0.0
        for name, seconds, found in rows(copy, Path(scratch)):
            base = base or seconds
            print(f"| {name} | {seconds:.1f} | {seconds / base:.2f} | {found or ''} |", flush=True)


if __name__ == "__main__":
    main()
