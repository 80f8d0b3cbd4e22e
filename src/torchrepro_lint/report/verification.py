"""What the verifier found, as text: findings joined with verdicts, or rows of the catalogue; one function per format.

Decides nothing: the caller says which row belongs to which finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torchrepro_lint.model import Finding, Level
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import as_json, visible
from torchrepro_lint.report.places import shown_place
from torchrepro_lint.report.summary import counted
from torchrepro_lint.report.terminal import Paint
from torchrepro_lint.report.verdict_words import lines_of, machine, rests_on, summary_of

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.verify.session import Session
    from torchrepro_lint.verify.verdicts import Row


@dataclass(frozen=True)
class Verification:
    """A run of the verifier: `result` holds the findings it was about, `rows` the row of each, in their order.

    Without `result` it was about rows of the catalogue.
    """

    session: Session
    result: Result | None = None
    rows: tuple[Row, ...] = ()


def render(verification: Verification, context: Context, output_format: str) -> Iterator[str]:
    """The whole report."""
    match output_format:
        case "json":
            yield from _json(verification, context)
        case "github":
            yield from _github(verification, context)
        case "concise":
            yield from _concise(verification, context)
            yield summary(verification)
        case _:
            yield from _full(verification, context)
            yield summary(verification)


def summary(verification: Verification) -> str:
    """How many verdicts of each kind, where; and why nothing was run where nothing was."""
    session = verification.session
    rows = verification.rows if verification.result else session.rows
    settled, what = sum(row.verdict.settled for row in rows), "finding" if verification.result else "operation"
    of_all = counted(len(rows), what) if settled == len(rows) else f"{settled} of {counted(len(rows), what)}"
    devices = sorted({row.device for row in rows if row.verdict.settled and row.device}, reverse=True)
    where = " and ".join(machine(session.environment, device) for device in devices or ["cpu"])
    counts = Counter(row.verdict for row in rows)
    parts = [f"{counts[verdict]} {verdict.value}{_reasons(rows, verdict)}" for verdict in _order() if counts[verdict]]
    return f"Verified {of_all} on {where}: {', '.join(parts)}.\n"


def _reasons(rows: tuple[Row, ...], verdict: object) -> str:
    reasons = Counter(row.reason for row in rows if row.verdict is verdict and not row.verdict.settled and row.reason)
    told = [f"{number} {reason}" if len(reasons) > 1 else reason for reason, number in reasons.most_common(3)]
    return f" ({', '.join(told)}{', ...' if len(reasons) > 3 else ''})" if told else ""


def _order() -> tuple[Any, ...]:
    from torchrepro_lint.verify.verdicts import Verdict

    return tuple(Verdict)


def _full(verification: Verification, context: Context) -> Iterator[str]:
    paint = Paint(context.color)
    if verification.result is None:
        for row in _ranked(verification.session.rows):
            if row.verdict.settled or row.reason not in _common(verification):
                yield f"{_verdict(row, paint)} {paint('strong', row.task.id)}{_on(row)}\n"
                yield from (f"  {visible(line)}\n" for line in lines_of(row))
                if row.verdict.settled and (row.task.shown or row.not_followed):
                    yield f"  {visible(rests_on(row))}\n"
                yield "\n"
        return
    from torchrepro_lint.report.finding import drawn

    row_of = {id(f): row for f, row in zip(verification.result.findings, verification.rows, strict=True)}

    def verified(finding: Finding) -> Iterator[str]:
        row = row_of[id(finding)]
        yield f"{_verdict(row, paint)}{_on(row)}"
        yield from map(visible, lines_of(row))
        if row.verdict.settled:
            yield visible(rests_on(row))

    yield from drawn(verification.result, context, verified)


def _common(verification: Verification) -> frozenset[str | None]:
    """Reasons shared by so many rows that their count in the summary is enough."""
    reasons = Counter(row.reason for row in verification.session.rows if not row.verdict.settled)
    return frozenset(reason for reason, number in reasons.items() if number > 3)


def _concise(verification: Verification, context: Context) -> Iterator[str]:
    paint = Paint(context.color)
    if verification.result is None:
        for row in verification.session.rows:
            yield f"{row.task.id}{_on(row)}: {_verdict(row, paint)}: {visible(summary_of(row))}\n"
        return
    for finding, row in zip(verification.result.findings, verification.rows, strict=True):
        place = visible(shown_place(verification.result.root, finding.location, context.cwd))
        code = paint(finding.level, finding.code)
        yield f"{place}: {code} {row.task.id}{_on(row)}: {_verdict(row, paint)}: {visible(summary_of(row))}\n"


def _json(verification: Verification, context: Context) -> Iterator[str]:
    from torchrepro_lint.report.json_list import listed
    from torchrepro_lint.verify.evidence import evidence, ordered

    content = evidence(verification.session)
    place = {id(row): number for number, row in enumerate(ordered(verification.session))}
    findings = listed(verification.result, context.cwd) if verification.result else []
    joined = [
        {**finding, "verdict": row.verdict.value, "row": place[id(row)]}
        for finding, row in zip(findings, verification.rows, strict=True)
    ]
    yield as_json({"findings": joined, "evidence": content}) + "\n"


def _github(verification: Verification, context: Context) -> Iterator[str]:
    """Findings as annotations, each with its verdict; for rows of the catalogue a line without a place."""
    from torchrepro_lint.report import github

    if verification.result is None:
        for row in verification.session.rows:
            level = Level.WARNING if row.verdict.differs else Level.NOTE
            yield github.command(level, {"title": f"{row.task.id} {row.verdict.value}"}, summary_of(row))
        return
    told = [
        replace(finding, message=f"{finding.message}\n{row.verdict.value}: {summary_of(row)}")
        for finding, row in zip(verification.result.findings, verification.rows, strict=True)
    ]
    yield from github.render(verification.result._replace(findings=tuple(told)), context)


def _ranked(rows: tuple[Row, ...]) -> list[Row]:
    order = {verdict: number for number, verdict in enumerate(_order())}
    return sorted(rows, key=lambda row: (order[row.verdict], row.task.id))


def _verdict(row: Row, paint: Paint) -> str:
    style: Mapping[bool, Level] = {True: Level.ERROR, False: Level.NOTE}
    return paint(style[row.verdict.differs], row.verdict.value)


def _on(row: Row) -> str:
    return f" ({row.device.upper()})" if row.device else ""
