"""How much was found, by rule and certainty, and what to do about it first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint.checks.listed import listed
from torchrepro_lint.elements import Certainty, Level, Safety
from torchrepro_lint.engine import IN_BASELINE
from torchrepro_lint.reading import CONFIGURATIONS
from torchrepro_lint.report.places import shown_path

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.model import Finding

_FIRST = 3  # rules to begin with
_TOO_MANY = 50  # findings that nobody mends in an afternoon


class Row(NamedTuple):
    """What one rule found: `certainties` in order from certain to what depends on the run, `fixable` safely."""

    code: str
    name: str
    number: int
    certainties: tuple[tuple[Certainty, int], ...]
    fixable: int


def rows(result: Result) -> list[Row]:
    """One row for each rule, most findings first."""
    names = {finding.code: finding.name for finding in result.findings}
    found = Counter(finding.code for finding in result.findings)
    sure = Counter((finding.code, finding.certainty) for finding in result.findings)
    safe = Counter(f.code for f in result.findings if f.fix and f.fix.safety is Safety.SAFE)
    return [
        Row(code, names[code], count, tuple((c, sure[code, c]) for c in Certainty if sure[code, c]), safe[code])
        for code, count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]


def by_rule(result: Result) -> Iterator[str]:
    """One line per rule, `[*]` where there are safe fixes."""
    table = rows(result)
    counts = max((len(str(row.number)) for row in table), default=0)
    names = max((len(row.name) for row in table), default=0)
    sure = max((len(_sure(row)) for row in table), default=0)
    for row in table:
        fixes = f"[*] {row.fixable}" if row.fixable else ""
        line = f"{row.number:>{counts}}  {row.code}  {row.name:<{names}}  {_sure(row):<{sure}}  {fixes}"
        yield line.rstrip() + "\n"


def others(result: Result) -> Iterator[str]:
    """What else the run counted."""
    rules = {finding.code for finding in result.findings}
    return (f"{name}: {number}\n" for name, number in result.statistics.items() if name not in rules)


def _program(finding: Finding) -> str:
    """The code that a finding on a program is about, also where it lies in the configuration that the code reads."""
    is_code = not finding.location.path.endswith(CONFIGURATIONS) or not finding.related
    return finding.location.path if is_code else finding.related[0].location.path


def advice(result: Result, cwd: Path) -> Iterator[str]:
    """What to do first, in whole lines."""
    problems = [finding for finding in result.findings if finding.level is not Level.NOTE]
    rest = Counter(f.code for f in problems if not (f.fix and f.fix.safety is Safety.SAFE))
    names = {finding.code: finding.name for finding in problems}
    order = sorted(rest, key=lambda code: (-rest[code], code))[:_FIRST]
    if result.fixable:
        yield f"First: --fix mends {result.fixable} of these, and --diff shows how.\n"
    if order:
        share = "Then" if result.fixable else "First"
        most = listed([f"{code} {names[code]} ({rest[code]})" for code in order])
        yield f"{share}: {most}; `torchrepro-lint rule {order[0]}` says what to write instead.\n"
    entry = next((_program(f) for f in problems if f.code in ("TRP101", "TRP103")), None)
    if entry is not None:
        where = shown_path(result.root, entry, cwd)
        yield f"`torchrepro-lint explain {where}` shows where that program seeds and draws.\n"
    if len(problems) >= _TOO_MANY and IN_BASELINE not in result.left_out:
        yield "Too many for now: --write-baseline FILE lists them, and --baseline FILE then leaves them out.\n"


def _sure(row: Row) -> str:
    return ", ".join(f"{number} {certainty.value}" for certainty, number in row.certainties)
