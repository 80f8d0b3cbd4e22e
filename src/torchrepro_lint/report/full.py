"""Findings for a person at a terminal, with the source that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.report import Context
from torchrepro_lint.report.summary import closing

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def render(result: Result, context: Context) -> Iterator[str]:
    """Each finding with its snippets, then the summary."""
    if result.findings:  # a clean run need not pay for the drawing
        from torchrepro_lint.report.finding import drawn

        yield from drawn(result, context)
    yield from closing(result, context)
