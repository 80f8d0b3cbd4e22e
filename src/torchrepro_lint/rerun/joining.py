"""Lays what the runs showed beside what the linter says: which finding predicted a cause, which one nothing confirmed.

A finding predicts a cause when its rule is about such causes, and it names a line that led there, or the generator or
the outside source that a pin has shown to be the cause. Findings come from the check engine, as a user would see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.rerun.results import Cause, Kind, Outcome, Predicted, Seen
from torchrepro_lint.rerun.streams import Place, Streams

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.model import Finding, Location

_RULES: Mapping[Kind, tuple[str, ...]] = {
    Kind.UNSEEDED: ("TRP1", "TRP2", "TRP3", "TRP6", "TRP7"),
    Kind.EXTERNAL: ("TRP1", "TRP2"),
    Kind.DATA_ORDER: ("TRP1", "TRP2", "TRP3", "TRP6"),
    Kind.CONTROL_FLOW: ("TRP1", "TRP2"),
    Kind.OPERATION: ("TRP4", "TRP5"),
    Kind.COMPILED: ("TRP4", "TRP5"),
    Kind.RANK: ("TRP1", "TRP3", "TRP4", "TRP5"),
    Kind.CONCURRENT: ("TRP304",),
}
_OF_SOURCE = {
    "hash": ("TRP109", "TRP205", "TRP206"),
    "listing": ("TRP204",),
    "time": ("TRP102", "TRP105"),
    "entropy": ("TRP102", "TRP104", "TRP105", "TRP112"),
}
_WHOLE_PROGRAM = ("TRP101", "TRP103", "TRP110", "TRP601", "TRP602", "TRP603")
# A library draws, and all that is seen is where its result comes in; a seed that other ranks lack is missed anywhere.
_OF_A_GENERATOR = (*_WHOLE_PROGRAM, "TRP106", "TRP111")
_OF_CONVOLUTIONS = ("TRP401", "TRP402", "TRP403", "TRP602")  # they speak of kernels that are chosen, not of one line
Part = tuple[Path, int | None]  # a file, or one cell of it
Lines = Mapping[Part, frozenset[int] | None]
"""The user's files that ran, each with the lines that ran; None where only the file is known."""


def files_that_ran(runs: Sequence[Streams], root: Path) -> Lines:
    """What the processes of all runs told; files of a copy count as those they are copies of."""
    found: dict[Part, set[int] | None] = {}
    for streams in runs:
        for _, event in streams.all("lines", "file"):
            part = (root / streams.relative(event.data["path"]), event.data.get("cell"))
            if event.kind == "lines":
                found[part] = (found.get(part) or set()) | set(event.data["lines"])
            else:
                found.setdefault(part, None)
    return {part: None if lines is None else frozenset(lines) for part, lines in found.items()}


def paths(lines: Lines) -> list[Path]:
    """The files of which anything ran, in order."""
    return sorted({path for path, _ in lines})


def joined(outcome: Outcome, result: Result, lines: Lines, root: Path) -> Outcome:
    """The outcome, its causes with the findings that predicted them, and the findings with what the runs say."""
    findings = _of_this_program(result, lines)
    causes = tuple(
        replace(cause, predicted_by=tuple(_told(f) for f in findings if _predicts(f, cause, result.root, root)))
        for cause in outcome.causes
    )
    observed = {(p.code, p.place) for cause in causes for p in cause.predicted_by}
    seen = tuple(_seen(finding, observed, lines, result.root) for finding in findings)
    return replace(outcome, causes=causes, findings=seen)


def _of_this_program(result: Result, lines: Lines) -> list[Finding]:
    """The findings but for those in other programs of the project, which share files with this one."""
    ran = set(paths(lines))
    places = ((finding, result.root / finding.location.path) for finding in result.findings)
    return [finding for finding, path in places if path in ran or path.suffix not in (".py", ".ipynb")]


def _told(finding: Finding) -> Predicted:
    return Predicted(finding.code, _place(finding), finding.fix.title if finding.fix else "")


def _place(finding: Finding) -> Place:
    where = finding.location
    return Place(where.path, where.range.start.line, cell=where.cell)


def _seen(finding: Finding, observed: set[tuple[str, Place]], lines: Lines, base: Path) -> Seen:
    where, place = finding.location, _place(finding)
    if (finding.code, place) in observed:
        status = "observed"
    elif (ran := lines.get((base / where.path, where.cell))) is not None and not _reached(finding, ran):
        status = "not reached"
    else:
        status = "not observed"
    return Seen(finding.code, place, finding.message, status)


def _reached(finding: Finding, ran: frozenset[int]) -> bool:
    """Whether any line of a finding ran; what is said of the whole program is reached with it."""
    span = finding.location.range
    return finding.code in _WHOLE_PROGRAM or any(line in ran for line in range(span.start.line, span.end.line + 1))


def _predicts(finding: Finding, cause: Cause, base: Path, root: Path) -> bool:
    if not finding.code.startswith(_RULES[cause.kind]):
        return False
    families = _families(finding)
    if cause.generator is not None and families and cause.generator not in families:
        return False
    if cause.source is not None and finding.code not in _OF_SOURCE[cause.source]:
        return False
    if cause.source is not None and cause.shown_by is not None:
        return True
    if cause.kind is Kind.CONCURRENT:  # where the race is, and where one that wins it is seen, are two places
        return cause.generator is None
    if cause.kind is Kind.UNSEEDED and cause.generator is None and families <= {"torch"} and _is_own(finding):
        return True
    if cause.generator is not None and finding.code in _OF_A_GENERATOR and families:
        return True
    if cause.operation is not None and "convolution" in cause.operation and finding.code in _OF_CONVOLUTIONS:
        return True
    return any(_spans(place, base, cause, root) for place in finding.places)


def _is_own(finding: Finding) -> bool:
    """Whether it is about how a generator of the program's own is seeded: where it is drawn from is elsewhere."""
    return finding.code in ("TRP102", "TRP104")


def _spans(place: Location, base: Path, cause: Cause, root: Path) -> bool:
    """Whether one of the lines that led to the cause lies in a place of the finding."""
    part, span = (base / place.path, place.cell), place.range
    return any(
        (root / frame.path, frame.cell) == part and span.start.line <= frame.line <= span.end.line
        for frame in cause.frames
    )


def _families(finding: Finding) -> frozenset[str]:
    given = finding.properties.get("families", finding.properties.get("family"))
    return frozenset([given] if isinstance(given, str) else map(str, given) if isinstance(given, (list, tuple)) else ())
