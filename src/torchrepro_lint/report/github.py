"""Findings as workflow commands, which GitHub Actions turns into annotations on the changed lines.

The log shows the message alone, and no more than ten annotations of a step appear elsewhere: so each message says by
itself what was found where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchrepro_lint.model import Finding, Level, Location
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import github_message, github_property
from torchrepro_lint.report.links import rule_url
from torchrepro_lint.report.places import shown_path, shown_place
from torchrepro_lint.report.positions import Files

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(result: Result, context: Context) -> Iterator[str]:
    """One command per finding."""
    files = Files(result)
    for finding in result.findings:
        path = shown_path(result.root, finding.location.path, context.cwd)
        properties = {"title": f"{finding.code} {finding.name}", "file": path, **_place(finding.location, files)}
        yield command(finding.level, properties, "\n".join(_message(result, finding, context)))


def command(level: Level, properties: Mapping[str, str], message: str) -> str:
    """One workflow command: an annotation where its properties name a file, else a line of the log that stands out."""
    told = ",".join(f"{key}={github_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[level]} {told}::{github_message(message)}\n"


def _place(location: Location, files: Files) -> dict[str, str]:
    """Where the annotation goes: GitHub refuses columns for several lines, and of a notebook it shows the JSON."""
    first, last, columns = files.lines(location)
    place = {"line": str(first), "endLine": str(last)}
    if columns is None or location.range.start.line != location.range.end.line:
        return place
    return {**place, "col": str(columns[0]), "endColumn": str(columns[1])}


def _message(result: Result, finding: Finding, context: Context) -> Iterator[str]:
    sure = f"{finding.level.value} ({finding.certainty.value})"
    place = shown_place(result.root, finding.location, context.cwd)
    yield f"{place}: {finding.code} {finding.name}, {sure}: {finding.message}"
    for item in finding.related:
        yield f"{shown_place(result.root, item.location, context.cwd)}: {item.message}"
    if finding.measured:
        yield f"evidence: {finding.measured}"
    if finding.help and not finding.fix:
        yield f"help: {finding.help}"
    if finding.fix:
        yield f"help: {finding.fix.title} [{finding.fix.safety.value} fix]"
    yield rule_url(finding.code)
