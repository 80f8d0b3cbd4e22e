"""Findings as a JSON list whose form is fixed by `docs/schemas/findings.schema.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrepro_lint.model import Edit, Finding, Fix, Location, Position, Related
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import as_json
from torchrepro_lint.report.places import shown_path

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.source import SourceFile

_SourceOf = Callable[[str], "SourceFile | None"]


def render(result: Result, context: Context) -> Iterator[str]:
    """The whole list, findings in the order that every format uses."""
    yield as_json(listed(result, context.cwd)) + "\n"


def listed(result: Result, cwd: Path) -> list[dict[str, Any]]:
    """The list as data; the project's root is told as it is seen from `cwd`."""
    source = lru_cache(maxsize=8)(result.source)
    root = shown_path(result.root, "", cwd)
    return [_finding(finding, source, root) for finding in result.findings]


def _finding(finding: Finding, source: _SourceOf, root: str) -> dict[str, Any]:
    """One finding; paths from the project root, lines of a notebook from the top of their cell."""
    start, end = finding.location.range.start, finding.location.range.end
    return {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level.value,
        "certainty": finding.certainty.value,
        "message": finding.message,
        "root": root,
        "path": finding.location.path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "cell": finding.location.cell,
        "properties": dict(sorted(finding.properties.items())),
        "related": [_related(item) for item in finding.related],
        "help": finding.help,
        "fix": _fix(finding.fix, source) if finding.fix else None,
        "fingerprint": finding.fingerprint,
    }


def _related(item: Related) -> dict[str, Any]:
    start = item.location.range.start
    return {
        "path": item.location.path,
        "line": start.line,
        "column": start.column,
        "message": item.message,
    }


def _fix(fix: Fix, source: _SourceOf) -> dict[str, Any]:
    edits = [_edit(edit, source) for edit in fix.edits]
    return {"safety": fix.safety.value, "title": fix.title, "edits": edits}


def _edit(edit: Edit, source: _SourceOf) -> dict[str, Any]:
    place = Location(edit.path, edit.range)
    if edit.path.endswith(".ipynb") and (notebook := source(edit.path)) is not None:
        place = notebook.location(edit.range)
    return {
        "path": edit.path,
        "cell": place.cell,
        "start": _position(place.range.start),
        "end": _position(place.range.end),
        "text": edit.text,
    }


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
