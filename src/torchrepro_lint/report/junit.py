"""Findings as JUnit XML, which nearly every CI system shows as failed tests: a suite per file, a case per finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchrepro_lint.model import Finding, Level
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import as_entities
from torchrepro_lint.report.links import rule_url
from torchrepro_lint.report.places import shown_path, shown_place

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_FAILED = ("TRP001", "TRP003")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def render(result: Result, context: Context) -> Iterator[str]:
    """A suite for each file that was checked, or that a finding lies in; one with nothing found has a passed case."""
    by_file: dict[str, list[Finding]] = {path: [] for path in result.files}
    for finding in result.findings:
        by_file.setdefault(finding.location.path, []).append(finding)
    cases = sum(max(len(found), 1) for found in by_file.values())
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f'<testsuites name="torchrepro-lint" {_counts(cases, result.findings)}>\n'
    for path in sorted(by_file):
        yield from _suite(path, by_file[path], result, context)
    yield "</testsuites>\n"


def _suite(path: str, found: Sequence[Finding], result: Result, context: Context) -> Iterator[str]:
    name = escaped(shown_path(result.root, path, context.cwd))
    yield f'  <testsuite name="{name}" {_counts(max(len(found), 1), found)}>\n'
    for finding in found:
        yield from _case(finding, name, result, context)
    if not found:
        yield f'    <testcase name="no findings" classname="{name}" time="0"/>\n'
    yield "  </testsuite>\n"


def _case(finding: Finding, name: str, result: Result, context: Context) -> Iterator[str]:
    """A note passes: it never fails a run."""
    where = finding.location.range.start
    cell = f"cell {finding.location.cell}:" if finding.location.cell is not None else ""
    title = escaped(f"{finding.code} {finding.name} at {cell}{where.line}:{where.column}")
    kind = {True: "error", False: "failure"}[finding.code in _FAILED]
    text = escaped("\n".join(_lines(finding, result, context)))
    yield f'    <testcase name="{title}" classname="{name}" file="{name}" line="{where.line}" time="0">\n'
    if finding.level is Level.NOTE:
        yield f"      <system-out>{text}</system-out>\n"
    else:
        told = f'message="{escaped(finding.message)}" type="{finding.code} {finding.level.value}"'
        yield f"      <{kind} {told}>{text}</{kind}>\n"
    yield "    </testcase>\n"


def _lines(finding: Finding, result: Result, context: Context) -> Iterator[str]:
    place = shown_place(result.root, finding.location, context.cwd)
    yield f"{place}: {finding.level.value} ({finding.certainty.value}): {finding.message}"
    for item in finding.related:
        yield f"{shown_place(result.root, item.location, context.cwd)}: {item.message}"
    if finding.help:
        yield f"help: {finding.help}"
    if finding.fix is not None:
        yield f"fix: {finding.fix.title} [{finding.fix.safety.value} fix]"
    yield rule_url(finding.code)


def _counts(cases: int, found: Sequence[Finding]) -> str:
    errors = sum(finding.code in _FAILED for finding in found)
    failures = sum(finding.level is not Level.NOTE for finding in found) - errors
    return f'tests="{cases}" failures="{failures}" errors="{errors}" skipped="0" time="0"'


def escaped(text: str) -> str:
    """Text for an attribute or an element. XML 1.0 has no way to write most control characters: they are replaced."""
    found = (_ENTITIES.get(character) or (character if _may_stand(character) else "\ufffd") for character in text)
    return as_entities("".join(found))


def _may_stand(character: str) -> bool:
    return " " <= character <= "\ud7ff" or "\ue000" <= character <= "\ufffd" or character >= "\U00010000"
