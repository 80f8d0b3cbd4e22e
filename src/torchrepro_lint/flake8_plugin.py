"""A plug-in for flake8: the findings of one file, among flake8's own.

flake8 hands over one file at a time, in several processes. Each is a run of its own, which follows the file's imports
through the project as ever; findings that lie in another file are not told, and nothing is kept between files. The
linter's own command is faster and tells everything. Settings are read from the project's configuration files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchrepro_lint import __version__
from torchrepro_lint.api import check
from torchrepro_lint.settings import SettingsError

_Row = tuple[int, int, str, type["Plugin"]]


class Plugin:
    """What flake8 makes for each file."""

    name = "torchrepro-lint"
    version = __version__

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._path = Path("stdin.py" if filename in ("-", "stdin") else filename)
        self._text = "".join(lines)

    def run(self) -> Iterator[_Row]:
        """Each finding as line, 0-based column and text; a suppression that flake8 needs is its own affair."""
        try:
            report = check(self._path, text=self._text)
        except SettingsError as error:
            yield 1, 0, f"TRP003 settings: {error}", type(self)
            return
        for finding in report.findings:
            start = finding.location.range.start
            if finding.code not in ("TRP001", "TRP002"):  # flake8 reports what it cannot parse, and counts noqa itself
                sure = f"{finding.level.value}({finding.certainty.value})"
                message = " ".join(finding.message.split())
                yield start.line, start.column - 1, f"{finding.code} {sure} {message}", type(self)
