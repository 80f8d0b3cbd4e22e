"""A finding drawn for a person at a terminal: the source, what is wrong in it, and what to do about it.

Knows how the parts of a finding are laid out; frames of source lines are drawn by `snippet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from torchrepro_lint.model import Certainty, Finding, Fix, Location
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.places import shown_place
from torchrepro_lint.report.snippet import Annotation, Frame
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_CERTAINTY = {
    Certainty.CERTAIN: "certain",
    Certainty.LIKELY: "likely",
    Certainty.DEPENDS: "depends on the run",
}
_Part = tuple[str, int | None]  # a file, or one cell of it


def drawn(
    result: Result, context: Context, verified: Callable[[Finding], Iterable[str]] = lambda finding: ()
) -> Iterator[str]:
    """Each finding with its snippets, and the lines that `verified` has on it; a rule's page is named once."""
    explained: set[str] = set()
    paint = Paint(context.color)
    lines_of = lru_cache(maxsize=16)(partial(_lines, result))
    for finding in result.findings:
        rows, gutter = [_header(finding, paint)], _gutter(finding)
        for part, (where, marked) in _parts(finding).items():
            place = visible(shown_place(result.root, where, context.cwd))
            arrow = "-->" if where is finding.location else ":::"
            rows.append(f"{paint('frame', ' ' * gutter + arrow)} {place}")
            rows += Frame(lines_of(part), marked, finding.level, gutter, context.width, paint).draw()
        rows += _verified(verified(finding), gutter, paint)
        rows += _footer(finding, gutter, paint, explain=finding.code not in explained)
        explained.add(finding.code)
        yield "\n".join((*rows, "", ""))


def _header(finding: Finding, paint: Paint) -> str:
    label = paint(finding.level, f"{finding.code} {finding.level.value}")
    return f"{label} ({_CERTAINTY[finding.certainty]}): {paint('strong', visible(finding.message))}"


def _verified(lines: Iterable[str], gutter: int, paint: Paint) -> Iterator[str]:
    for number, line in enumerate(lines):
        edge = paint("frame", " " * (gutter + 1) + ("=" if number == 0 else " "))
        yield f"{edge} {paint('strong', 'verified')}: {line}" if number == 0 else f"{edge}   {line}"


def _footer(finding: Finding, gutter: int, paint: Paint, *, explain: bool) -> Iterator[str]:
    edge = paint("frame", " " * (gutter + 1) + "=")
    if finding.fix:
        yield f"{edge} {paint('strong', 'help')}: {_help(finding.fix, paint)}"
    elif finding.help:
        yield f"{edge} {paint('strong', 'help')}: {visible(finding.help)}"
    if finding.measured:
        yield f"{edge} {paint('strong', 'evidence')}: {visible(finding.measured)}"
    if explain:
        told = f"`torchrepro-lint rule {finding.code}` explains {finding.name}"
        yield f"{edge} {paint('strong', 'note')}: {told}"


def _help(fix: Fix, paint: Paint) -> str:
    return f"{visible(fix.title)} {paint('help', f'[{fix.safety.value} fix]')}"


def _part(location: Location) -> _Part:
    return location.path, location.cell


def _parts(finding: Finding) -> dict[_Part, tuple[Location, list[Annotation]]]:
    """What to show of each file or cell, and the location that stands above: the finding's own first, then the others
    in order of mention."""
    own = finding.location
    same = [item.message for item in finding.related if item.location == own]
    parts = {_part(own): (own, [Annotation(own.range, ", ".join(same), True)])}
    for item in finding.related:
        if item.location != own:
            annotation = Annotation(item.location.range, item.message, False)
            parts.setdefault(_part(item.location), (item.location, []))[1].append(annotation)
    return parts


def _gutter(finding: Finding) -> int:
    return len(str(max([place.range.end.line for place in finding.places])))


def _lines(result: Result, part: _Part) -> Sequence[str]:
    """The lines of the file, or of its cell; none where the source cannot be read, and of a notebook as a whole."""
    source = result.source(part[0])
    if source is None or (source.kind == "notebook" and part[1] is None):
        return ()
    first, last = 1, len(source.line_starts)
    if part[1] is not None:
        first = next((line for line, cell in source.cells if cell == part[1]), last + 1)
        last = min((line - 1 for line, _ in source.cells if line > first), default=last)
    return source.lines()[first - 1 : last]
