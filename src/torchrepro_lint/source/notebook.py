"""A Jupyter notebook as one module: its Python code cells, joined in order.

Reads notebook formats 3 and 4. Only Python cells count; the others keep their number, as people count them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from torchrepro_lint.elements import Position
from torchrepro_lint.source.decoding import refuse_null
from torchrepro_lint.source.errors import SourceError
from torchrepro_lint.source.magics import replace_magics

_PYTHON = ("python", "ipython", "python3")
_IS_INDENTED = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*[ \t]+[^\s#]")  # its first statement is
_FIRST_INDENT = re.compile(r"(?:[ \t]*[\r\n])*([ \t]*)")


@dataclass(frozen=True, slots=True)
class JoinedCells:
    """The module text, and for each code cell its first line in it and its number among all cells; whether characters
    stand in it that the cells do not have."""

    text: str
    cells: tuple[tuple[int, int], ...]
    is_rewritten: bool = False


def join_cells(text: str) -> JoinedCells:
    """Read a notebook's JSON; raises SourceError when it is broken or not a notebook."""
    notebook = _load(text)
    language = _language(notebook)
    parts: list[str] = []
    cells: list[tuple[int, int]] = []
    line, is_rewritten = 1, False
    for number, cell in enumerate(_all_cells(notebook), start=1):
        code = _code(cell, language)
        if not code:
            continue
        refuse_null(code)
        code = replace_magics(code)
        if _IS_INDENTED.match(code):
            code, is_rewritten = _outdented(code), True
        if not code.endswith(("\n", "\r")):
            code += "\n"
        parts.append(code)
        cells.append((line, number))
        line += code.count("\n") + code.count("\r") - code.count("\r\n")
    return JoinedCells("".join(parts), tuple(cells), is_rewritten)


def _outdented(code: str) -> str:
    """A cell that is indented as a whole, which IPython reads as if it were not. Every character keeps its place: for
    the last of each line's indentation stands a form feed, behind which Python counts the columns anew."""
    indent = _FIRST_INDENT.match(code)
    return re.sub(rf"(?:\A|(?<=[\r\n])){indent[1]}", f"{indent[1][:-1]}\f", code) if indent and indent[1] else code


def languages(text: str) -> tuple[str, ...]:
    """The languages of a notebook's cells of code, in order of name."""
    notebook = _load(text)
    language = _language(notebook)
    return tuple(sorted({_language_of(cell, language) for cell in _all_cells(notebook) if _source(cell)}))


def _load(text: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        place = Position(error.lineno, error.colno)
        raise SourceError(f"broken notebook: {error.msg}", place) from None
    except RecursionError:
        raise SourceError("broken notebook: nested too deeply") from None
    except ValueError:  # Python refuses to read them
        raise SourceError("broken notebook: a number with thousands of digits") from None
    if not isinstance(notebook, dict):
        raise SourceError("not a notebook: the top level is not an object")
    return notebook


def _all_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Every cell in order; format 3 keeps them in worksheets."""
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        sheets = [_mapping(sheet).get("cells") for sheet in notebook["worksheets"]]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list):
        raise SourceError("not a notebook: it has no cells")
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict):
            raise SourceError(f"broken notebook: cell {number} is not an object")
    return cells


def _language(notebook: dict[str, Any]) -> str:
    """The kernel's language; a notebook that does not say is taken to be Python."""
    metadata = _mapping(notebook.get("metadata"))
    kernel = _mapping(metadata.get("kernelspec"))
    info = _mapping(metadata.get("language_info"))
    said = kernel.get("language") or info.get("name") or metadata.get("language")
    return str(said or "python")


def _code(cell: dict[str, Any], language: str) -> str:
    """The cell's source when it is Python code, else nothing."""
    return _source(cell) if _language_of(cell, language).lower() in _PYTHON else ""


def _language_of(cell: dict[str, Any], language: str) -> str:
    """The language of a cell of code in a notebook of `language`."""
    editor = _mapping(_mapping(cell.get("metadata")).get("vscode"))
    return str(editor.get("languageId") or cell.get("language") or language)


def _source(cell: dict[str, Any]) -> str:
    """What a cell of code says, of any other nothing."""
    source = cell.get("source", cell.get("input", "")) if cell.get("cell_type") == "code" else ""
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
