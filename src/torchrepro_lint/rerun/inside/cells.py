"""The cells of a notebook: Jupyter's kernel compiles each as a file of its own, whose name has the process id in it.

So that two runs can be compared, and a person finds the line, a cell is told as the notebook and the cell's number.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_FOLDER = "ipykernel_"  # of the file names that ipykernel/compiler.py gives to cells: this, and the process id


class Cells:
    """The cells of the notebook that is run, if the program is one."""

    def __init__(self, notebook: str | None) -> None:
        self._notebook = notebook
        self._numbers: dict[str, int] | None = None

    def place(self, path: str) -> tuple[str, int | None]:
        """A file's path, or for a cell the notebook's, and the cell's number among all cells, from 1."""
        folder, name = os.path.split(path)
        if not os.path.basename(folder).startswith(_FOLDER):
            return path, None
        if self._numbers is None:
            self._numbers = _numbers(self._notebook)
        number = self._numbers.get(path)
        return (self._notebook or "", number) if number is not None else (os.path.join("ipykernel", name), None)


def _numbers(notebook: str | None) -> dict[str, int]:
    """The number of each cell by the name that the kernel gives to its text; of equal cells the first one's."""
    compiler = sys.modules.get("ipykernel.compiler")
    if notebook is None or compiler is None:
        return {}
    with open(notebook, encoding="utf-8") as file:
        cells = json.load(file).get("cells", ())
    numbered = [(number, _code(cell)) for number, cell in enumerate(cells, 1) if cell.get("cell_type") == "code"]
    return {compiler.get_file_name(code): number for number, code in reversed(numbered)}


def _code(cell: dict[str, Any]) -> str:
    return "".join(cell.get("source", ()))
