"""One line per finding, for logs and editors: `path:line:column: CODE level(certainty) message [*]`, `[*]` for a safe
fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.elements import Safety
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.places import shown_place
from torchrepro_lint.report.summary import closing
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def render(result: Result, context: Context) -> Iterator[str]:
    """Each finding on its line, then the summary."""
    paint = Paint(context.color)
    for finding in result.findings:
        place = visible(shown_place(result.root, finding.location, context.cwd))
        safe = finding.fix is not None and finding.fix.safety is Safety.SAFE
        mark = f" [{paint('help', '*')}]" if safe else ""
        sure = f"{finding.level.value}({finding.certainty.value})"
        yield f"{place}: {paint(finding.level, finding.code)} {sure} {visible(finding.message)}{mark}\n"
    yield from closing(result, context, plan=False)
