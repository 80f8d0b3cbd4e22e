"""The last lines of a report: how much was found, where, and what can be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrepro_lint.model import Level
from torchrepro_lint.report import Context
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def summary(result: Result, context: Context) -> str:
    """One or two sentences, each on its line."""
    fixed = f"Fixed {counted(result.fixed, 'problem')}.\n" if context.fixing and result.fixed else ""
    return fixed + Paint(context.color)("strong", _found(result, context)) + "\n"


def counted(number: int, noun: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _found(result: Result, context: Context) -> str:
    of = counted(len(result.files), "file")
    notes = sum(finding.level is Level.NOTE for finding in result.findings)
    problems = len(result.findings) - notes
    if not result.findings:
        return f"No problems left in {of}." if result.fixed and context.fixing else f"No problems in {of}."
    what = [counted(problems, "problem")] if problems else []
    what += [counted(notes, "note")] if notes else []
    where = len({finding.location.path for finding in result.findings})
    in_files = f"{where} of {of}" if where != len(result.files) else of
    return f"Found {' and '.join(what)}{_fixable(result, context)} in {in_files}."


def _fixable(result: Result, context: Context) -> str:
    offers = []
    if result.fixable and not context.fixing:
        offers.append(f"{result.fixable} fixable with --fix")
    if result.unsafe_fixable:
        more = "more " if offers else "fixable "
        offers.append(f"{result.unsafe_fixable} {more}with --unsafe-fixes")
    return f" ({', '.join(offers)})" if offers else ""
