"""Findings and results for the tests of reports, made by hand and as small as they can be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torchrepro_lint.engine import Result
from torchrepro_lint.model import (
    Certainty,
    Edit,
    Finding,
    Fix,
    Level,
    Location,
    Position,
    Range,
    Related,
    Safety,
)
from torchrepro_lint.report import Context, renderer

ROOT = Path("/project")
MESSAGE = "`DataLoader(...)` shuffles without `generator=`"


def span(line: int, column: int, end_line: int, end_column: int) -> Range:
    return Range(Position(line, column), Position(end_line, end_column))


def around(text: str, part: str) -> Range:
    """The range of the first `part` in `text`."""
    start = text.index(part)
    return Range(_position(text, start), _position(text, start + len(part)))


def _position(text: str, offset: int) -> Position:
    before = text[:offset].split("\n")
    return Position(len(before), len(before[-1]) + 1)


def related(where: Range, message: str, path: str = "train.py", cell: int | None = None) -> Related:
    return Related(Location(path, where, cell), message)


def fix(safety: Safety = Safety.SAFE, path: str = "train.py") -> Fix:
    edit = Edit(path, span(1, 1, 1, 1), "import torch\n")
    return Fix(safety, "Give the loader a seeded generator", (edit,))


def finding(
    where: Range,
    *items: Related,
    path: str = "train.py",
    cell: int | None = None,
    code: str = "TRP201",
    name: str = "loader-without-generator",
    level: Level = Level.WARNING,
    certainty: Certainty = Certainty.CERTAIN,
    message: str = MESSAGE,
    fix: Fix | None = None,
    help: str | None = None,
) -> Finding:
    return Finding(
        code,
        name,
        level,
        certainty,
        message,
        Location(path, where, cell),
        {"family": "torch", "count": 2, "bound": True},
        items,
        fix,
        "0123456789abcdef",
        help=help,
    )


def result(*findings: Finding, files: Mapping[str, str] | None = None, fixed: int = 0, unsafe: bool = False) -> Result:
    """A result over files with these texts."""
    texts = files or {"train.py": "x = 1\n"}
    sources = {ROOT / rel: text for rel, text in texts.items()}
    return Result(ROOT, findings, tuple(sorted(texts)), fixed=fixed, made_unsafe=unsafe, texts=sources)


def rendered(
    output_format: str,
    made: Result,
    *,
    color: bool = False,
    width: int = 100,
    cwd: Path = ROOT,
    fixing: bool = False,
    quiet: bool = False,
    statistics: bool = False,
) -> str:
    return "".join(renderer(output_format)(made, Context(color, width, cwd, fixing, quiet, statistics)))
