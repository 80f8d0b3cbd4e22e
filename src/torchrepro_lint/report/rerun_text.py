"""What a rerun found, for a person at a terminal: the story of the runs in at most 40 lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.rerun_source import lines_around
from torchrepro_lint.report.rerun_words import compared, findings_line, fixes, headline, lines_of, recall, title
from torchrepro_lint.report.summary import counted
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.rerun.results import Cause, Outcome, Proof

_CAUSES = 4  # that are told in full
_TAIL = 20  # lines of the output of a program that failed


def render(outcome: Outcome, root: Path, color: bool) -> Iterator[str]:
    """The whole report; source lines are read below `root`."""
    paint = Paint(color)
    word, _, rest = headline(outcome).partition(" ")
    yield f"{paint('help' if outcome.verdict.value == 'IDENTICAL' else 'error', word)} {visible(rest)}\n"
    if outcome.reason and outcome.verdict.value in ("PROGRAM_FAILED", "PARTED"):
        yield from (f"  | {visible(line)}\n" for line in (outcome.reason or "").splitlines()[1:][-_TAIL:])
    for number, cause in enumerate(outcome.causes[:_CAUSES], 1):
        yield from _cause(number, cause, root, paint)
    if len(outcome.causes) > _CAUSES:
        yield f"  and {counted(len(outcome.causes) - _CAUSES, 'more cause')} behind these\n"
    yield from (f"  note: {visible(note)}\n" for note in outcome.notes[:4])
    if outcome.compared:
        yield f"  {visible(compared(outcome))}\n"
    if outcome.findings or outcome.causes:
        yield f"  linter: {findings_line(outcome)}\n"


def comparison(before: Outcome, proof: Proof, color: bool) -> Iterator[str]:
    """What the safe fixes change: a table, and what still parts."""
    after = proof.outcome
    rows = [
        ("", "as it is", f"with {fixes(proof)}"),
        ("verdict", before.verdict.value, after.verdict.value),
        ("first different step", *(_step(outcome) for outcome in (before, after))),
        ("causes", *(_kinds(outcome) for outcome in (before, after))),
        ("causes predicted", *(f"{recall(outcome)[0]} of {recall(outcome)[1]}" for outcome in (before, after))),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    yield "\n"
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
    if after.causes:
        yield "\nWhat still parts:\n"
        for number, cause in enumerate(after.causes[:_CAUSES], 1):
            yield from _cause(number, cause, proof.root, Paint(color))


def _step(outcome: Outcome) -> str:
    return "-" if outcome.first_step is None else str(outcome.first_step)


def _kinds(outcome: Outcome) -> str:
    return ", ".join(dict.fromkeys(cause.kind.value for cause in outcome.causes)) or "-"


def _cause(number: int, cause: Cause, root: Path, paint: Paint) -> Iterator[str]:
    yield f"{number}. {paint('strong', visible(title(cause)))}\n"
    if cause.place is not None:
        yield f"   {paint('frame', '-->')} {visible(str(cause.place))}\n"
        source = "".join(text for _, text in lines_around(root, cause.place)).strip()
        if source:
            yield f"     {paint('frame', f'{cause.place.line} |')} {visible(source)}\n"
    for line in lines_of(cause):
        yield f"   {paint('frame', '=')} {visible(line)}\n"
