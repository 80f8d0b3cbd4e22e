"""The last lines of a report: how much was found, where, and what can be done about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


_MANY = 5  # findings: so many take a plan
_LONG = 10  # so many are no longer seen at once


def closing(result: Result, context: Context, *, plan: bool = True) -> Iterator[str]:
    """The end of a report for people: counts by rule where they are asked for, or where findings are many; what to do
    first where there is much to do; and the summary. In a quiet report only what is asked for."""
    planned = plan and len(result.findings) >= _MANY and not context.quiet and not context.fixing
    if context.statistics or planned:
        from torchrepro_lint.report.statistics import advice, by_rule, others

        yield from by_rule(result) if context.statistics or len(result.findings) >= _LONG else ()
        yield from others(result) if context.statistics else ()
        yield from map(visible_lines, advice(result, context.cwd)) if planned else ()
    if not context.quiet:
        yield summary(result, context)


def visible_lines(text: str) -> str:
    """A line with nothing in it that a terminal would obey."""
    return visible(text.removesuffix("\n")) + "\n"


def summary(result: Result, context: Context) -> str:
    """One sentence on a line, and one on what was left out."""
    fixing = context.fixing and (result.fixed or result.findings)
    text = f"Fixed {after_fixing(result)}." if fixing else _found(result)
    left_out = [f"{len(found)} {reason}" for reason, found in result.left_out.items() if found]
    more = f" Left out: {', '.join(left_out)}." if left_out else ""
    return Paint(context.color)("strong", text) + f"{visible(more)}\n"


def after_fixing(result: Result) -> str:
    """How many problems were fixed, how many remain, and how many of these have only an unsafe fix."""
    parts = [counted(result.fixed, "problem")]
    if result.findings:
        verb = "remains" if len(result.findings) == 1 else "remain"
        has_notes = any(finding.level is Level.NOTE for finding in result.findings)
        parts.append(f"{_kinds(result) if has_notes else len(result.findings)} {verb} in {_in_files(result)}")
    else:
        parts.append(f"none remain in {counted(len(result.files), 'file')}")
    if result.unsafe_fixable:
        parts.append(f"{result.unsafe_fixable} need{'s' * (result.unsafe_fixable == 1)} --unsafe-fixes")
    return ", ".join(parts)


def counted(number: int, noun: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _kinds(result: Result) -> str:
    """`2 certain problems and 1 note`; of several certainties `2 certain and 1 likely problems, and 1 note`."""
    sure = Counter(finding.certainty for finding in result.findings if finding.level is not Level.NOTE)
    notes = len(result.findings) - sure.total()
    parts = [f"{sure[certainty]} {certainty.value}" for certainty in Certainty if sure[certainty]]
    what = [f"{' and '.join(parts)} problem{'s' * (sure.total() != 1)}"] if parts else []
    what += [counted(notes, "note")] if notes else []
    return (", and " if len(parts) > 1 else " and ").join(what)


def _found(result: Result) -> str:
    if not result.findings:
        return f"No problems in {counted(len(result.files), 'file')}."
    return f"Found {_kinds(result)}{_fixable(result)} in {_in_files(result)}."


def _in_files(result: Result) -> str:
    """`2 of 7 files`; findings may also lie in files that were not given, which use those that were."""
    where = {finding.location.path for finding in result.findings}
    others = len(where.difference(result.files))
    if others:
        given = len(where) - others
        beside = f"{counted(others, 'file')} besides the {'one' if len(result.files) == 1 else len(result.files)} given"
        return f"{given} of {counted(len(result.files), 'file')} and in {beside}" if given else beside
    of = counted(len(result.files), "file")
    return of if len(where) == len(result.files) else f"{len(where)} of {of}"


def _fixable(result: Result) -> str:
    offers, safe, unsafe = [], result.fixable, result.unsafe_fixable
    if safe:
        offers.append(f"{safe} fixable with --fix")
    if unsafe:
        more = "more " if offers else "fixable "
        offers.append(f"{unsafe} {more}with --unsafe-fixes")
    return f" ({', '.join(offers)})" if offers else ""
