"""The tools that sit the exam: how each is run on a folder, and in which category each of its codes makes a claim.

Each is run as its users run it, in a subprocess; one that is not installed is absent, and is said to be. A code that
makes no claim about reproducibility is left out of its table. Where a tool does not say which generator it means,
every family counts as meant.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring import Report

HERE = Path(__file__).parent
MINUTES = 20
UNKNOWN = "of an unknown version"


@dataclass(frozen=True)
class Tool:
    """A program, its arguments before the folder, and how its output is read."""

    name: str
    program: str
    arguments: tuple[str, ...]
    read: Callable[[str, Path], Iterator[Report]]
    distribution: str = ""  # whose version is told where the program has no option for it

    def path(self) -> str | None:
        """Where the program is: as the variable EXAM_<PROGRAM> says, beside this Python, or on the search path."""
        asked = os.environ.get(f"EXAM_{self.name.upper().replace('-', '_')}")
        beside = Path(sys.executable).parent / self.program
        return asked or (str(beside) if beside.exists() else shutil.which(self.program))

    def told_version(self, path: str) -> str:
        """What it is called with its version; of a plug-in, what is installed beside the program."""
        if self.distribution:
            python = Path(path).with_name("python")
            code = f"import importlib.metadata as m; print(m.version({self.distribution!r}))"
            done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
        else:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"\d+(\.\w+)+", done.stdout)
        return found[0] if found else UNKNOWN

    def reports(self, path: str, folder: Path) -> list[Report]:
        """What it reports on a folder. A tool that fails reports nothing, and the failure is told."""
        command = [path, *self.arguments, "."]
        environment = {**os.environ, "COLUMNS": "400", "NO_COLOR": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60 * MINUTES
        )
        try:
            return list(self.read(done.stdout, folder))
        except ValueError:
            print(f"{self.name} failed on {folder.name}: {done.stderr.strip()[-200:]}", file=sys.stderr)
            return []


def relative(path: str, folder: Path) -> str:
    where = Path(path)
    return (where.relative_to(folder) if where.is_absolute() else where).as_posix()


# --- this linter

OURS = {
    "TRP101": "seed-missing", "TRP102": "seed-nonconstant", "TRP103": "seed-late", "TRP104": "generator-unseeded",
    "TRP105": "generator-unseeded", "TRP106": "seed-same-all-workers", "TRP107": "seed-same-all-workers",
    "TRP109": "set-order", "TRP110": "framework", "TRP201": "loader-generator", "TRP202": "loader-worker-init",
    "TRP203": "split-generator", "TRP204": "fs-order", "TRP205": "set-order", "TRP206": "set-order",
    "TRP207": "seed-same-all-workers", "TRP301": "set-epoch-missing", "TRP302": "set-epoch-missing",
    "TRP401": "cudnn-benchmark", "TRP402": "cudnn-deterministic-off", "TRP403": "cudnn-deterministic-off",
    "TRP404": "det-algos", "TRP405": "det-algos", "TRP406": "autotune", "TRP501": "nondet-op", "TRP502": "nondet-op",
    "TRP503": "nondet-op", "TRP504": "nondet-op", "TRP505": "nondet-op", "TRP601": "framework", "TRP602": "framework",
    "TRP603": "framework", "TRP604": "framework", "TRP701": "resume-rng",
}  # fmt: skip


def read_ours(output: str, _: Path) -> Iterator[Report]:
    findings = json.loads(output)
    for found in findings["findings"] if isinstance(findings, dict) else findings:
        if found["code"] not in OURS:
            continue
        category, properties = OURS[found["code"]], found.get("properties") or {}
        families = properties.get("families") or [properties.get("family")]
        yield Report(
            category,
            found["path"],
            found["line"],
            found.get("end_line") or found["line"],
            found["message"],
            frozenset(filter(None, families)),
            tuple((place["path"], place["line"]) for place in found.get("related") or ()),
            is_open=category == "loader-worker-init" and found["certainty"] == "depends",
        )


# --- pylint with dslinter

DSLINTER = {
    "randomness-control-pytorch": ("seed-missing", "torch"),
    "randomness-control-numpy": ("seed-missing", "numpy"),
    "randomness-control-dataloader-pytorch": ("loader-generator", ""),
    "deterministic-pytorch": ("cudnn-deterministic-off", ""),
}


def read_pylint(output: str, folder: Path) -> Iterator[Report]:
    for found in json.loads(output):
        if found["symbol"] in DSLINTER:
            category, family = DSLINTER[found["symbol"]]
            path, line = relative(found["path"], folder), found["line"]
            families = frozenset({family} - {""})
            yield Report(category, path, line, found.get("endLine") or line, found["message"], families)


# --- ruff and flake8

NUMPY_LEGACY = {"NPY002": ("seed-missing", "numpy")}  # a global generator is used; nothing of bugbear's is about ours


def read_ruff(output: str, folder: Path) -> Iterator[Report]:
    for found in json.loads(output):
        if found["code"] in NUMPY_LEGACY:
            category, family = NUMPY_LEGACY[found["code"]]
            path, line = relative(found["filename"], folder), found["location"]["row"]
            yield Report(category, path, line, found["end_location"]["row"], found["message"], frozenset({family}))


def read_flake8(output: str, folder: Path) -> Iterator[Report]:
    for text in output.splitlines():
        found = re.match(r"(?P<path>.+?):(?P<line>\d+):\d+: (?P<code>\w+) (?P<message>.*)", text)
        if found and found["code"] in NUMPY_LEGACY:
            category, family = NUMPY_LEGACY[found["code"]]
            line = int(found["line"])
            yield Report(category, relative(found["path"], folder), line, line, found["message"], frozenset({family}))


# --- semgrep, with the rules beside this file


def read_semgrep(output: str, folder: Path) -> Iterator[Report]:
    for found in json.loads(output)["results"]:
        metadata: dict[str, Any] = found["extra"]["metadata"]
        family = metadata.get("family")
        yield Report(
            metadata["category"],
            relative(found["path"], folder),
            found["start"]["line"],
            found["end"]["line"],
            found["extra"]["message"],
            frozenset({family} if family else ()),
        )


# --- torchdetscan, which draws a table for each file under the file's name


def read_torchdetscan(output: str, folder: Path) -> Iterator[Report]:
    title = ""
    for text in output.splitlines():
        row = re.match(r"│ (?P<name>[^│]*\S) *│ +(?P<line>\d+) │", text)
        if row:
            category = "det-algos" if row["name"].startswith("use_determin") else "nondet-op"
            line = int(row["line"])
            yield Report(category, relative(title, folder), line, line, row["name"])
        elif not text.strip() or "✅" in text:
            title = ""
        elif text[0] not in "┏┃┡│└":
            title += text.strip()  # a long name runs over several lines


TOOLS = (
    Tool(
        "torchrepro-lint",
        "torchrepro-lint",
        ("check", "--no-cache", "--output-format", "json", "--exit-zero"),
        read_ours,
    ),
    Tool("torchdetscan", "torchdetscan", ("--pytorch-version", "2.3"), read_torchdetscan, distribution="torchdetscan"),
    Tool(
        "dslinter",
        "pylint",
        (
            "--load-plugins=dslinter.plugin",
            "--disable=all",
            f"--enable={','.join(DSLINTER)}",
            "--recursive=y",
            "--output-format=json",
        ),
        read_pylint,
        distribution="dslinter",
    ),
    Tool(
        "ruff",
        "ruff",
        ("check", "--isolated", "--no-cache", "--select=NPY,B", "--output-format=json", "--exit-zero"),
        read_ruff,
    ),
    Tool("flake8-bugbear", "flake8", ("--isolated", "--select=B,NPY"), read_flake8, distribution="flake8-bugbear"),
    Tool(
        "semgrep",
        "semgrep",
        (
            "scan",
            "--config",
            str(HERE / "semgrep.yml"),
            "--json",
            "--metrics=off",
            "--disable-version-check",
            "--quiet",
            "--no-git-ignore",
            "--timeout=60",
        ),
        read_semgrep,
    ),
)
