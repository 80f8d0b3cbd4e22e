"""The last lines of a report: how much was found, where, and what can be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrepro_lint.model import Level
from torchrepro_lint.report import Context
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def summary(result: Result, context: Context) -> str:
    """One sentence on a line."""
    fixing = context.fixing and (result.fixed or result.findings)
    text = f"Fixed {after_fixing(result)}." if fixing else _found(result)
    return Paint(context.color)("strong", text) + "\n"


def after_fixing(result: Result) -> str:
    """How many problems were fixed, how many remain, and how many of these have only an unsafe fix."""
    where = len({finding.location.path for finding in result.findings})
    of = counted(len(result.files), "file")
    parts = [counted(result.fixed, "problem")]
    if result.findings:
        verb = "remains" if len(result.findings) == 1 else "remain"
        in_files = of if where == len(result.files) else f"{where} of {of}"
        parts.append(f"{_kinds(result) if _has_notes(result) else len(result.findings)} {verb} in {in_files}")
    else:
        parts.append(f"none remain in {of}")
    if result.unsafe_fixable:
        parts.append(f"{result.unsafe_fixable} need{'s' * (result.unsafe_fixable == 1)} --unsafe-fixes")
    return ", ".join(parts)


def counted(number: int, noun: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _has_notes(result: Result) -> bool:
    return any(finding.level is Level.NOTE for finding in result.findings)


def _kinds(result: Result) -> str:
    """`2 problems and 1 note`."""
    notes = sum(finding.level is Level.NOTE for finding in result.findings)
    problems = len(result.findings) - notes
    what = [counted(problems, "problem")] if problems else []
    what += [counted(notes, "note")] if notes else []
    return " and ".join(what)


def _found(result: Result) -> str:
    of = counted(len(result.files), "file")
    if not result.findings:
        return f"No problems in {of}."
    where = len({finding.location.path for finding in result.findings})
    in_files = f"{where} of {of}" if where != len(result.files) else of
    return f"Found {_kinds(result)}{_fixable(result)} in {in_files}."


def _fixable(result: Result) -> str:
    offers = []
    if result.fixable:
        offers.append(f"{result.fixable} fixable with --fix")
    if result.unsafe_fixable:
        more = "more " if offers else "fixable "
        offers.append(f"{result.unsafe_fixable} {more}with --unsafe-fixes")
    return f" ({', '.join(offers)})" if offers else ""
