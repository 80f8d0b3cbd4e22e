"""Findings as workflow commands, which GitHub Actions turns into annotations on the changed lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchrepro_lint.model import Finding, Level, Location
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import github_message, github_property
from torchrepro_lint.report.places import shown_path, shown_place

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(result: Result, context: Context) -> Iterator[str]:
    """One command per finding."""
    for finding in result.findings:
        path = shown_path(result.root, finding.location.path, context.cwd)
        properties = {"title": f"{finding.code} {finding.name}", "file": path, **_place(finding.location)}
        yield command(finding.level, properties, "\n".join(_message(result, finding, context)))


def command(level: Level, properties: Mapping[str, str], message: str) -> str:
    """One workflow command: an annotation where its properties name a file, else a line of the log that stands out."""
    told = ",".join(f"{key}={github_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[level]} {told}::{github_message(message)}\n"


def _place(location: Location) -> dict[str, str]:
    """Where the annotation goes: GitHub refuses columns for several lines, and knows no cells."""
    start, end = location.range.start, location.range.end
    if location.cell is not None:
        return {"line": "1", "endLine": "1"}
    if start.line != end.line:
        return {"line": str(start.line), "endLine": str(end.line)}
    return {
        "line": str(start.line),
        "endLine": str(end.line),
        "col": str(start.column),
        "endColumn": str(end.column),
    }


def _message(result: Result, finding: Finding, context: Context) -> Iterator[str]:
    start = finding.location.range.start
    cell = finding.location.cell
    where = "" if cell is None else f"cell {cell}:{start.line}:{start.column}: "
    yield where + finding.message
    for item in finding.related:
        yield f"{shown_place(result.root, item.location, context.cwd)}: {item.message}"
    if finding.measured:
        yield f"evidence: {finding.measured}"
    if finding.fix:
        yield f"help: {finding.fix.title} [{finding.fix.safety.value} fix]"
