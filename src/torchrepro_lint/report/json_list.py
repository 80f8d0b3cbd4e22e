"""Findings as a JSON list whose form is fixed by `docs/schemas/findings.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchrepro_lint.model import Edit, Finding, Fix, Position, Related
from torchrepro_lint.report import Context

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def render(result: Result, context: Context) -> Iterator[str]:
    """The whole list, findings in the order that every format uses."""
    findings = [as_json(finding) for finding in result.findings]
    yield json.dumps(findings, indent=2, ensure_ascii=False) + "\n"


def as_json(finding: Finding) -> dict[str, Any]:
    """One finding; paths from the project root, lines of a notebook from the top of their cell."""
    start, end = finding.location.range.start, finding.location.range.end
    return {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level.value,
        "certainty": finding.certainty.value,
        "message": finding.message,
        "path": finding.location.path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "cell": finding.location.cell,
        "properties": dict(sorted(finding.properties.items())),
        "related": [_related(item) for item in finding.related],
        "fix": _fix(finding.fix) if finding.fix else None,
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


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [_edit(edit) for edit in fix.edits]
    return {"safety": fix.safety.value, "title": fix.title, "edits": edits}


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "path": edit.path,
        "start": _position(edit.range.start),
        "end": _position(edit.range.end),
        "text": edit.text,
    }


def _position(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}
