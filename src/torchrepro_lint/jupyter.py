"""`%load_ext torchrepro_lint` in a notebook: what is wrong in its cells is told after each cell that runs.

Each cell that has run is kept in order, and all are checked as one program that lies in the kernel's folder, with the
rest of the project. Imports IPython nowhere: what it needs is given.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from torchrepro_lint.api import check
from torchrepro_lint.model import Finding
from torchrepro_lint.settings import SettingsError

_NAME = "notebook.ipynb"  # that is not on the disk, beside the modules which it imports


class _Shell(Protocol):
    """What IPython hands over, as far as it is used."""

    events: Any


class Extension:
    """The cells that have run, and what has been told of them."""

    def __init__(self) -> None:
        self._cells: list[str] = []
        self._counts: list[int] = []  # as `In [3]` shows them
        self._told: set[tuple[str, str]] = set()

    def after(self, result: Any) -> None:
        """A cell has run: print what is new."""
        self._cells.append(str(result.info.raw_cell))
        self._counts.append(int(result.execution_count or len(self._cells)))
        for line in self.news():
            print(line)

    def news(self) -> list[str]:
        """A line for each finding that was not there before."""
        rows = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in self._cells]
        book = json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        try:
            found = check(Path.cwd() / _NAME, text=book).findings
        except SettingsError as error:
            return [f"torchrepro-lint: {error}"]
        new = [f for f in found if (f.code, f.message) not in self._told]
        self._told = {(f.code, f.message) for f in found}
        return [self._line(finding) for finding in new]

    def _line(self, finding: Finding) -> str:
        where = finding.location
        place = f"In [{self._counts[(where.cell or 1) - 1]}], line {where.range.start.line}"
        sure = f"{finding.level.value} ({finding.certainty.value})"
        return f"torchrepro-lint: {place}: {finding.code} {sure}: {' '.join(finding.message.split())}"


def load(shell: _Shell) -> None:
    """Begin."""
    shell.events.register("post_run_cell", Extension().after)


def unload(shell: _Shell) -> None:
    """End."""
    for callback in [c for c in shell.events.callbacks["post_run_cell"] if _is_ours(c)]:
        shell.events.unregister("post_run_cell", callback)


def _is_ours(callback: object) -> bool:
    return isinstance(getattr(callback, "__self__", None), Extension)
