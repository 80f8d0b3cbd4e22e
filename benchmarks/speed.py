#!/usr/bin/env python3
"""Hold the linter to its targets for speed, start-up time and memory.

Each is a ratio or a difference within one session: what is compared runs in turn, round by round, in
processes of its own, so that a busy machine slows both sides; medians are reported. TorchFix is installed
from PyPI in an environment in the corpus' cache, and run once: it needs minutes. Exits 1 where a target is
missed.

    python benchmarks/speed.py                      # everything
    python benchmarks/speed.py parse start          # the two quick ones
    python benchmarks/speed.py --write results.md   # also as a Markdown table
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import textwrap
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import corpus
from measuring import Command, check, cost, in_turn, linter, measure

PACKAGES = ["timm", "ultralytics", "torch_geometric"]
TORCHFIX = "0.7.0"
NOTHING_TO_REPORT = textwrap.dedent(
    """\
    import torch
    from torch import nn


    class Perceptron(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.layer = nn.Linear(width, width)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.layer(inputs))
    """
)


@dataclass(frozen=True)
class Result:
    """One target and what was measured; `met` says whether it was reached."""

    what: str
    measured: str
    target: str
    met: bool


@dataclass(frozen=True)
class Settings:
    """Where packages are unpacked and how often each pair is run."""

    cache: Path
    rounds: int


@contextmanager
def by_themselves(folders: Iterable[Path]) -> Iterator[Path]:
    """A folder with copies of `folders` alone: what lies beside them in the cache is no part of their project."""
    with tempfile.TemporaryDirectory() as scratch:
        for folder in folders:
            shutil.copytree(folder, Path(scratch, folder.name), ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(scratch)


def parse(settings: Settings) -> Iterator[Result]:
    """Linting three packages against merely parsing them with `ast`."""
    yield _against_parsing(settings, PACKAGES, 3)


def transformers(settings: Settings) -> Iterator[Result]:
    """The same for the largest package."""
    yield _against_parsing(settings, ["transformers"], 2.3)


def _against_parsing(settings: Settings, packages: Sequence[str], target: float) -> Result:
    with by_themselves(corpus.fetch(settings.cache, packages)) as folder:
        found = cost(folder, settings.rounds)
    what = f"check / ast.parse of {', '.join(packages)}"
    measured = f"{found.ratio:.2f}x ({found.check_time:.1f} s / {found.parse_time:.1f} s)"
    return Result(what, measured, f"at most {target:g}x", found.ratio <= target)


def torchfix(settings: Settings) -> Iterator[Result]:
    """TorchFix against linting, on the same three packages."""
    tool = _torchfix(settings.cache)
    with by_themselves(corpus.fetch(settings.cache, PACKAGES)) as folder:
        theirs = measure(Command([str(tool), "--select", "ALL", "-j", "1", str(folder)]))
        ours = median(measure(check(folder)).cpu for _ in range(settings.rounds))
    seconds = f"{theirs.cpu:.0f} s / {ours:.1f} s"
    ratio = theirs.cpu / ours
    yield Result("TorchFix / check, CPU time", f"{ratio:.0f}x ({seconds})", "at least 20x", ratio >= 20)


def _torchfix(cache: Path) -> Path:
    folder = cache / f"torchfix-{TORCHFIX}"
    tool = folder / "bin" / "torchfix"
    if not tool.exists():
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"torchfix=={TORCHFIX}"], check=True)
    return tool


def start(settings: Settings) -> Iterator[Result]:
    """One small file with nothing to report, as people run it, against a bare interpreter."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "perceptron.py")
        file.write_text(NOTHING_TO_REPORT)
        plain = Command([*linter(), str(file)])
        bare, checks = in_turn(4 * settings.rounds, Command([sys.executable, "-c", "pass"]), plain)
        module = [sys.executable, "-X", "importtime", "-m", "torchrepro_lint", "check", str(file)]
        trace = subprocess.run(module, capture_output=True, text=True, check=True)
    more = 1000 * (median(run.cpu for run in checks) - median(run.cpu for run in bare))
    imported = sorted({line.split("|")[-1].strip() for line in trace.stderr.splitlines()})
    libcst = [name for name in imported if name.partition(".")[0] in ("libcst", "torch")]
    yield Result("one clean file - python -c pass, CPU time", f"{more:.0f} ms", "at most 60 ms", more <= 60)
    yield Result("libcst, torch imported for it", ", ".join(libcst) or "none", "none", not libcst)


def memory(settings: Settings) -> Iterator[Result]:
    """The largest resident set while the whole corpus is linted in one process."""
    run = corpus.lint(corpus.fetch(settings.cache, corpus.PACKAGES))
    peak = run.process.peak / 2**20
    speed = f"{run.lines:,} lines in {run.process.wall:.0f} s"
    yield Result(f"peak memory, {speed}", f"{peak:.0f} MiB", "under 400 MiB", peak < 400)


PARTS: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "parse": parse,
    "transformers": transformers,
    "start": start,
    "memory": memory,
    "torchfix": torchfix,
}


def markdown(results: Sequence[Result]) -> str:
    """The results as a Markdown table."""
    rows = [f"| {r.what} | {r.measured} | {r.target} | {'yes' if r.met else 'no'} |" for r in results]
    return "\n".join(["| what | measured | target | met |", "| --- | --- | --- | --- |", *rows]) + "\n"


def main() -> None:
    """Parse the command line, measure, print a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--cache", type=Path, default=corpus.DEFAULT_CACHE)
    parser.add_argument("--rounds", type=int, default=5, help="how often each pair runs (default: %(default)s)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write a Markdown table")
    options = parser.parse_args()
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}")
    settings = Settings(options.cache.resolve(), options.rounds)
    results = []
    for part in options.parts or PARTS:
        for result in PARTS[part](settings):
            results.append(result)
            verdict = "ok" if result.met else "MISSED"
            print(f"{result.what:<45} {result.measured:<24} {result.target:<15} {verdict}", flush=True)
    if options.write:
        options.write.write_text(markdown(results), encoding="utf-8")
    raise SystemExit(not all(result.met for result in results))


if __name__ == "__main__":
    main()
