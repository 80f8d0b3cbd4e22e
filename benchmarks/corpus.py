#!/usr/bin/env python3
"""Run the linter over 36 pinned PyPI packages of the PyTorch ecosystem: what it found, how fast, how heavy.

Wheels are downloaded once with pip into a cache outside the repository and their Python files unpacked
there, one folder per package; nothing of them is built, imported or run. Knows no rule, and nothing of the
linter's inside. Standard library only, apart from pip.

    python benchmarks/corpus.py                            # all packages, a table
    python benchmarks/corpus.py timm trl --sample 20       # two packages, 20 findings to judge
    python benchmarks/corpus.py --sample 100 -- --select TRP2
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import Command, Process, linter, measure

PACKAGES = {
    "accelerate": "1.15.0",
    "albumentations": "2.0.8",
    "botorch": "0.18.1",
    "diffusers": "0.42.1",
    "espnet": "202511",
    "fastai": "2.8.12",
    "flair": "0.15.1",
    "gpytorch": "1.15.2",
    "kornia": "0.9.0",
    "litgpt": "0.5.13",
    "megatron_core": "0.16.1",
    "mmdet": "3.3.0",
    "mmengine": "0.10.7",
    "monai": "1.6.1",
    "nemo_toolkit": "3.0.0",
    "open_clip_torch": "3.3.0",
    "peft": "0.21.2",
    "pyannote_audio": "4.0.7",
    "pytorch_forecasting": "1.8.0",
    "pytorch_ignite": "0.5.5",
    "pytorch_lightning": "2.6.6",
    "segmentation_models_pytorch": "0.6.0",
    "sentence_transformers": "6.2.0",
    "skorch": "1.4.0",
    "speechbrain": "1.1.2",
    "stable_baselines3": "2.9.2",
    "tianshou": "2.0.1",
    "timm": "1.0.31",
    "torch_geometric": "2.8.1",
    "torchmetrics": "1.9.0",
    "torchrl": "0.14.1",
    "torchtune": "0.6.1",
    "transformers": "5.23.0",
    "trl": "1.16.0",
    "ultralytics": "8.4.190",
    "verl": "0.9.1",
}
DEFAULT_CACHE = Path.home() / ".cache" / "torchrepro-lint-corpus"
SUFFIXES = (".py", ".pyi", ".ipynb")
# One fixed target, whatever Python runs this: every machine gets the same wheels, and so the same files.
TARGET = [
    *("--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp"),
    *("--abi", "cp311", "--abi", "abi3", "--abi", "none"),
    *("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64"),
]
INTERNAL_ERROR = "TRP003"


@dataclass(frozen=True)
class Run:
    """One run of the linter over a set of packages."""

    process: Process
    findings: list[dict[str, Any]]
    files: int
    lines: int


def fetch(cache: Path, names: Iterable[str]) -> list[Path]:
    """The folders of the named packages in `cache`, downloaded and unpacked where they are not there yet."""
    return [_unpacked(cache, name, PACKAGES[name]) for name in names]


def _unpacked(cache: Path, name: str, version: str) -> Path:
    # With its version no folder can pass for a package that others import.
    folder = cache / "packages" / f"{name}-{version}"
    stamp = folder / "pyproject.toml"
    if not stamp.is_file():
        _extract(_wheel(cache / "wheels", name, version), folder)
        # Last, for it marks a complete folder; it also makes the folder a project of its own.
        stamp.write_text(f'[project]\nname = "{name}"\nversion = "{version}"\n')
    return folder


def _wheel(wheels: Path, name: str, version: str) -> Path:
    pattern = f"{name}-{version}-*.whl"
    if not any(wheels.glob(pattern)):
        print(f"downloading {name} {version}", file=sys.stderr)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            *TARGET,
            "--dest",
            str(wheels),
        ]
        subprocess.run([*pip, f"{name}=={version}"], check=True)
    return next(iter(sorted(wheels.glob(pattern))))


def _extract(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.endswith(SUFFIXES)])


def sources(folders: Iterable[Path]) -> list[Path]:
    """Every Python file and notebook in `folders`, sorted."""
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES)


def lint(folders: Sequence[Path], arguments: Sequence[str] = ()) -> Run:
    """Lint `folders` in one process, with further command line `arguments`."""
    paths = sources(folders)
    lines = sum(path.read_bytes().count(b"\n") for path in paths)
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        options = ["--output-format", "json", "--exit-zero", *arguments]
        process = measure(Command([*linter(), "check", "--no-cache", *map(str, folders), *options]), report)
        text = report.read_text(encoding="utf-8")
    if not text:
        raise SystemExit("the linter reported nothing, not even that there are no findings")
    return Run(process, json.loads(text), len(paths), lines)


def table(run: Run) -> Iterator[str]:
    """What a run found and cost, a line at a time."""
    process = run.process
    codes = collections.Counter(finding["code"] for finding in run.findings)
    fixable = collections.Counter(finding["code"] for finding in run.findings if finding["fix"])
    yield f"files        {run.files:>12,}"
    yield f"lines        {run.lines:>12,}"
    yield f"wall         {process.wall:>12.1f} s"
    yield f"speed        {run.lines / process.wall:>12,.0f} lines/s"
    yield f"peak memory  {process.peak / 2**20:>12.0f} MiB"
    yield f"exit code    {process.code:>12}"
    yield f"findings     {len(run.findings):>12,}"
    for code in sorted({*codes, "TRP001", INTERNAL_ERROR}):
        yield f"  {code}     {codes[code]:>12,}   {fixable[code]:>6,} with a fix"


def sample(run: Run, folders: Sequence[Path], count: int, seed: int) -> Iterator[str]:
    """`count` findings drawn with `seed`, each with six lines of source, for a person to judge."""
    drawn = random.Random(seed).sample(run.findings, min(count, len(run.findings)))
    for number, finding in enumerate(drawn, 1):
        yield f"\n[{number}/{len(drawn)}] {finding['code']} {finding['name']} ({finding['certainty']})"
        yield f"{finding['path']}:{finding['line']}:{finding['column']}  {finding['message']}"
        yield from (f"  {other['path']}:{other['line']}  {other['message']}" for other in finding["related"])
        yield from _context(finding, folders)


def _context(finding: dict[str, Any], folders: Sequence[Path]) -> Iterator[str]:
    path = _find(finding["path"], folders)
    if path is None or finding["cell"] is not None:
        return
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    first = max(1, min(finding["line"] - 2, len(lines) - 5))
    for number, line in enumerate(lines[first - 1 : first + 5], first):
        yield f"{'>' if number == finding['line'] else ' '}{number:>6} | {line.rstrip()[:160]}"


def _find(path: str, folders: Sequence[Path]) -> Path | None:
    # A reported path is relative to its project's root: the package's folder, or one above it.
    roots = [Path(), *folders, *{folder.parent for folder in folders}]
    return next((root / path for root in roots if (root / path).is_file()), None)


def main() -> None:
    """Parse the command line, run, print; exits 1 where the linter itself failed on a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="PACKAGE", help="which packages (default: all)")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="wheels' folder (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="print N findings with source")
    parser.add_argument("--seed", type=int, default=0, help="which N findings (default: %(default)s)")
    parser.add_argument("--download-only", action="store_true", help="fill the cache and stop")
    own, passed_on = _split(sys.argv[1:])
    options = parser.parse_args(own)
    if unknown := sorted(set(options.names) - set(PACKAGES)):
        parser.error(f"not in the corpus: {', '.join(unknown)}")
    folders = fetch(options.cache.resolve(), options.names or PACKAGES)
    if options.download_only:
        return
    run = lint(folders, passed_on)
    print("\n".join([*table(run), *sample(run, folders, options.sample, options.seed)]))
    raise SystemExit(any(finding["code"] == INTERNAL_ERROR for finding in run.findings))


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What stands before `--`, and what after it: that is the linter's."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


if __name__ == "__main__":
    main()
