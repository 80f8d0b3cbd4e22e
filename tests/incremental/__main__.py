"""Edit copies of real projects at random, and say where a run with a cache prints something else than one without;
and kill runs of a small project, or begin two at once.

python -m tests.incremental ~/programs/one ~/programs/two --edits 400 --seed 1 --kills 200 --pairs 100
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest finds the tests' own modules

from incremental.comparing import differences
from incremental.edits import CONFIGURED, EDITS
from incremental.faults import killed_while_writing, two_at_once
from incremental.projects import write_project


def main() -> int:
    """1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", type=Path, nargs="*")
    parser.add_argument("--edits", type=int, default=400, help="of each project")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--jobs", nargs="+", default=["1", "2"])
    asked = parser.parse_args()
    total = 0
    for project in asked.projects:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "project")
            shutil.copytree(project, root, symlinks=True)
            (root / "pyproject.toml").touch()
            found = 0
            for difference in differences(root, asked.edits, asked.seed, asked.jobs, (*EDITS, *CONFIGURED)):
                found += 1
                print(difference, flush=True)
        print(f"{project.name}: {asked.edits} edits, {found} differences", flush=True)
        total += found
    with tempfile.TemporaryDirectory() as folder:
        for faults, rounds in ((killed_while_writing, asked.kills), (two_at_once, asked.pairs)):
            wrong = list(faults(write_project(Path(folder, faults.__name__)), rounds))
            print(f"{faults.__name__}: {rounds} rounds, {len(wrong)} differences", *wrong, sep="\n", flush=True)
            total += len(wrong)
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
