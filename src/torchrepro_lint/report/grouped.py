"""Findings under the name of their file, for a person who goes from file to file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from torchrepro_lint.model import Finding
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.places import shown_path
from torchrepro_lint.report.summary import closing
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def render(result: Result, context: Context) -> Iterator[str]:
    """Each file with its findings, then the summary."""
    paint = Paint(context.color)
    for path, group in groupby(result.findings, key=lambda finding: finding.location.path):
        found = list(group)
        yield paint("strong", visible(shown_path(result.root, path, context.cwd)) + ":") + "\n"
        places = [_place(finding) for finding in found]
        width = max(map(len, places))
        for finding, place in zip(found, places, strict=True):
            yield f"  {place:<{width}}  {_line(finding, paint)}\n"
        yield "\n"
    yield from closing(result, context)


def _place(finding: Finding) -> str:
    start, cell = finding.location.range.start, finding.location.cell
    return f"{'' if cell is None else f'cell {cell}:'}{start.line}:{start.column}"


def _line(finding: Finding, paint: Paint) -> str:
    sure = f"{finding.level.value}({finding.certainty.value})"
    mark = f" [{paint('help', finding.fix.safety.value)} fix]" if finding.fix is not None else ""
    return f"{paint(finding.level, finding.code)} {sure} {visible(finding.message)}{mark}"
