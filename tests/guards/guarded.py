"""Correct programs whose protective lines are marked, and what becomes of them without one of these lines.

A program is one file of `programs/`. A line `# --- data.py ---` begins another file of the same project, and a first
line `# %%` makes it a notebook of such cells. What comes after `# guard` is a mark:

    torch.manual_seed(0)  # guard                                   the line is taken out
    names = sorted(os.listdir(path))  # guard: names = os.listdir(path)          something else takes its place
    env.reset(seed=0)  # guard: env.reset()  [silent: reason]       the linter cannot report it, and why
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "programs"
_MARK = re.compile(r"\s*# guard(?:: (?P<instead>.*?))?(?:  \[silent: (?P<silent>.+)\])?$")
_FILE = re.compile(r"# --- (?P<name>\S+) ---")


@dataclass(frozen=True)
class Guard:
    """A protective line of a program: its 1-based number, what takes its place, and why that cannot be reported."""

    line: int
    instead: str | None
    silent: str | None


@dataclass(frozen=True)
class Program:
    """A program by its name, with its lines as they are written."""

    name: str
    lines: tuple[str, ...]

    @property
    def guards(self) -> tuple[Guard, ...]:
        marks = ((number, _MARK.search(line)) for number, line in enumerate(self.lines, 1))
        return tuple(Guard(number, mark["instead"], mark["silent"]) for number, mark in marks if mark is not None)

    def files(self, without: Guard | None = None) -> dict[str, str]:
        """Its files by name, without marks, and without one of its guards."""
        is_notebook = self.lines[0] == "# %%"
        name = "train.ipynb" if is_notebook else "train.py"
        texts: dict[str, list[str]] = {name: []}
        for line in self._kept(without):
            if (begun := _FILE.fullmatch(line)) is not None:
                name = begun["name"]
            texts.setdefault(name, []).append(line)
        return {name: _notebook(lines) if is_notebook else "\n".join(lines) + "\n" for name, lines in texts.items()}

    def _kept(self, without: Guard | None) -> Iterator[str]:
        for number, line in enumerate(self.lines, 1):
            if without is None or number != without.line:
                yield _MARK.sub("", line)
            elif without.instead is not None:
                yield line[: len(line) - len(line.lstrip())] + without.instead


def _notebook(lines: list[str]) -> str:
    cells = "\n".join(lines).split("# %%\n")[1:]
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    written = [{**code, "source": cell.strip().splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def programs() -> list[Program]:
    """All programs, by name."""
    return [Program(p.stem, tuple(p.read_text().splitlines())) for p in sorted(FOLDER.glob("*.txt"))]
