#!/usr/bin/env python3
"""Hold the linter to its targets on repositories of many programs: CPU time against `ast.parse`, and memory.

A package has few entry points; a repository of examples has hundreds, and each is followed through the code that
they share. The checkouts lie in one folder, which TORCHREPRO_LINT_PROGRAMS names, as OWNER__NAME, each at the commit
pinned here. What is absent or at another commit is told with the git command that lays it out, and skipped; nothing
is downloaded, built, imported or run. Both sides run in turn, round by round, in processes of their own; medians
are reported. Exits 1 where a target is missed, 2 where there is nothing to measure. Standard library only, and git.

    TORCHREPRO_LINT_PROGRAMS=~/programs python benchmarks/programs.py
    TORCHREPRO_LINT_PROGRAMS=~/programs python benchmarks/programs.py yolov5 LoRA --rounds 5
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from measuring import Cost, Process, cost

FOLDER = "TORCHREPRO_LINT_PROGRAMS"
RATIO_OF_EACH = 4.0
RATIO_TOGETHER = 3.0
PEAK = 350  # MiB


@dataclass(frozen=True)
class Repository:
    """A repository on GitHub at one commit, and the exit code of a check: 2 where a file is no Python."""

    name: str
    commit: str
    code: int = 0

    def folder(self, programs: Path) -> Path:
        """Where its checkout lies."""
        return programs / self.name.replace("/", "__")


REPOSITORIES = [
    Repository("WZMIAOMIAO/deep-learning-for-image-processing", "2ecf2eea2b97777bb18fe9ff458292fde5a92b7e"),
    Repository("huggingface/accelerate", "16cb6eb80dd9aa8b4df1a63ef57863e455d53b83"),
    Repository("huggingface/pytorch-image-models", "aa4b5850c1543fa488abf260f18390eda46cf85d"),
    Repository("microsoft/LoRA", "c4593f060e6a368d7bb5af5273b8e42810cdef90", code=2),  # has templates of modules
    Repository("pyg-team/pytorch_geometric", "5c6461b2305ad068a6d61165b3c55852a11aaa41"),
    Repository("pytorch/examples", "77f55b912142e11fcfdf5b530231fb9c52f181e8"),
    Repository("ultralytics/yolov5", "5081342f04fb287fc2e5f2b5a4e06752b7937b1c"),
]


def met(cost: Cost, ratio: float) -> bool:
    """Whether the targets for time and memory are."""
    return cost.ratio <= ratio and cost.peak <= PEAK


def missing(repository: Repository, programs: Path) -> str | None:
    """Why a repository cannot be measured, if so. A folder that is no git checkout is taken to be at the commit."""
    folder = repository.folder(programs)
    if not folder.is_dir():
        return "absent"
    if not (folder / ".git").exists():
        return None
    git = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    return None if commit == repository.commit else f"at commit {commit[:7]}, not at {repository.commit[:7]}"


def advice(repository: Repository, programs: Path) -> str:
    """The command that puts a repository where it is looked for, at its commit."""
    folder = shlex.quote(str(repository.folder(programs)))
    if repository.folder(programs).exists():
        return f"git -C {folder} fetch --depth 1 origin {repository.commit} && git -C {folder} checkout FETCH_HEAD"
    url = f"https://github.com/{repository.name}"
    return f"git clone --filter=blob:none --no-checkout {url} {folder} && git -C {folder} checkout {repository.commit}"


def together(costs: Sequence[Cost]) -> Cost:
    """All of them, one after the other: their times added up, and the largest of the peaks."""
    parses = [_added(column) for column in zip(*(each.parses for each in costs), strict=True)]
    checks = [_added(column) for column in zip(*(each.checks for each in costs), strict=True)]
    return Cost(sum(each.files for each in costs), parses, checks)


def _added(runs: Sequence[Process]) -> Process:
    return Process(
        max(run.code for run in runs),
        sum(run.wall for run in runs),
        sum(run.cpu for run in runs),
        max(run.peak for run in runs),
    )


HEAD = f"{'':<46}{'files':>6}{'ast.parse':>11}{'check':>10}{'ratio':>9}{'target':>8}{'peak':>10}{'target':>9}"


def row(name: str, cost: Cost, target: float) -> str:
    """One line of the table."""
    times = f"{cost.parse_time:>9.2f} s{cost.check_time:>8.2f} s{cost.ratio:>8.2f}x{target:>7g}x"
    memory = f"{cost.peak:>6.0f} MiB{PEAK:>5} MiB"
    return f"{name:<46}{cost.files:>6,}{times}{memory}  {'ok' if met(cost, target) else 'MISSED'}"


def measured(repositories: Sequence[Repository], programs: Path, rounds: int) -> Iterator[Cost]:
    """What each repository costs; prints its line as soon as that is known."""
    for repository in repositories:
        found = cost(repository.folder(programs), rounds, repository.code)
        print(row(repository.name, found, RATIO_OF_EACH), flush=True)
        yield found


def present(repositories: Sequence[Repository], programs: Path) -> Iterator[Repository]:
    """Those that can be measured; tells of the others on the standard error."""
    for repository in repositories:
        why = missing(repository, programs)
        if why is None:
            yield repository
        else:
            print(f"SKIPPED {repository.name}: {why}\n    {advice(repository, programs)}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, measure, print a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which repositories, by part of a name (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair runs (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not (given := os.environ.get(FOLDER)):
        parser.error(f"{FOLDER} is not set: name the folder of the checkouts, which may be empty")
    programs = Path(given).expanduser().resolve()
    chosen = [each for each in REPOSITORIES if not options.names or any(part in each.name for part in options.names)]
    here = list(present(chosen, programs))
    if not here:
        parser.error(f"none of the repositories is in {programs}")
    print(HEAD)
    costs = list(measured(here, programs, options.rounds))
    everything = together(costs)
    print(row(f"together ({len(here)} of {len(REPOSITORIES)} repositories)", everything, RATIO_TOGETHER))
    return int(not (met(everything, RATIO_TOGETHER) and all(met(each, RATIO_OF_EACH) for each in costs)))


if __name__ == "__main__":
    sys.exit(main())
