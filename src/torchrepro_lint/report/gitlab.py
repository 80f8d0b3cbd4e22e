"""Findings as a GitLab code quality report, which merge requests show beside the changed lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchrepro_lint.model import Certainty, Finding, Level
from torchrepro_lint.report import Context
from torchrepro_lint.report.json_rows import listed
from torchrepro_lint.report.places import shown_path
from torchrepro_lint.report.positions import Files, whole

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def render(result: Result, context: Context) -> Iterator[str]:
    """The whole report."""
    files = Files(result)
    paths = (shown_path(result.root, finding.location.path, context.cwd) for finding in result.findings)
    yield from listed(_row(finding, path, files) for finding, path in zip(result.findings, paths, strict=True))
    yield "\n"


def _row(finding: Finding, path: str, files: Files) -> dict[str, Any]:
    first, last, _ = files.lines(finding.location)
    cell = f"cell {finding.location.cell}: " if finding.location.cell is not None else ""
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": whole(f"{finding.code} {finding.name} ({finding.certainty.value}): {cell}{finding.message}"),
        "categories": ["Bug Risk"],
        "severity": _severity(finding),
        "fingerprint": finding.fingerprint,
        "location": {"path": whole(path), "lines": {"begin": first, "end": last}},
    }


def _severity(finding: Finding) -> str:
    """GitLab knows five; what is less than certain weighs less."""
    if finding.level is Level.NOTE:
        return "info"
    if finding.level is Level.ERROR:
        return "critical"
    return "major" if finding.certainty is Certainty.CERTAIN else "minor"
