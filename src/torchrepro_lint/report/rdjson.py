"""Findings in the Reviewdog Diagnostic Format, which comments on pull requests of several hosts.

Columns are counted in UTF-8 bytes, as its definition asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torchrepro_lint.model import Edit, Finding, Level, Location
from torchrepro_lint.report import Context
from torchrepro_lint.report.json_rows import members
from torchrepro_lint.report.links import HOME, rule_url
from torchrepro_lint.report.places import shown_path
from torchrepro_lint.report.positions import Files, whole

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_SEVERITIES = {Level.ERROR: "ERROR", Level.WARNING: "WARNING", Level.NOTE: "INFO"}


def render(result: Result, context: Context) -> Iterator[str]:
    """The whole report."""
    files = Files(result)
    rows = (_diagnostic(finding, result, context, files) for finding in result.findings)
    yield from members({"source": {"name": "torchrepro-lint", "url": HOME}}, "diagnostics", rows)
    yield "\n"


def _diagnostic(finding: Finding, result: Result, context: Context, files: Files) -> dict[str, Any]:
    found: dict[str, Any] = {
        "message": whole(f"{finding.message} ({finding.certainty.value})"),
        "location": _location(finding.location, result, context, files),
        "severity": _SEVERITIES[finding.level],
        "code": {"value": finding.code, "url": rule_url(finding.code)},
    }
    if finding.related:
        found["related_locations"] = [
            {"message": whole(item.message), "location": _location(item.location, result, context, files)}
            for item in finding.related
        ]
    if (edit := _only_edit(finding)) is not None:
        place = _range(replace(finding.location, range=edit.range), files)
        found["suggestions"] = [{"range": place, "text": whole(edit.text)}]
    return found


def _location(location: Location, result: Result, context: Context, files: Files) -> dict[str, Any]:
    path = shown_path(result.root, location.path, context.cwd)
    return {"path": whole(path), "range": _range(location, files)}


def _range(location: Location, files: Files) -> dict[str, Any]:
    first, last, columns = files.lines(location)
    if columns is None:
        return {"start": {"line": first}, "end": {"line": last}}
    start, end = location.range
    return {
        "start": {"line": start.line, "column": files.byte_column(location, *start)},
        "end": {"line": end.line, "column": files.byte_column(location, *end)},
    }


def _only_edit(finding: Finding) -> Edit | None:
    """The edit of a fix that is one edit of this file: suggestions are taken one by one, and fixes only whole."""
    edits = finding.fix.edits if finding.fix is not None else ()
    if len(edits) == 1 and edits[0].path == finding.location.path and finding.location.cell is None:
        return edits[0]
    return None
