"""Notebooks as one module, and the way back from its lines to cells."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from torchrepro_lint.model import Position, Range
from torchrepro_lint.source import SourceError, SourceFile, read_source, source_from_text
from torchrepro_lint.source.notebook import languages

PYTHON = {"kernelspec": {"language": "python", "name": "python3"}, "language_info": {"name": "python"}}


def code(source: object, **more: object) -> dict[str, object]:
    return {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
        **more,
    }


def markdown(text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def notebook(*cells: object, metadata: object = PYTHON) -> SourceFile:
    text = json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    return source_from_text(text, Path("/p/a.ipynb"), "a.ipynb")


def line(number: int, first: int = 1, last: int = 2) -> Range:
    return Range(Position(number, first), Position(number, last))


def test_code_cells_are_joined_in_order() -> None:
    source = notebook(markdown("# title"), code(["a = 1\n", "b = 2"]), code(""), code("c = 3\n"))
    assert source.text == "a = 1\nb = 2\nc = 3\n"
    assert source.kind == "notebook"


def test_places_are_given_by_cell_as_people_count_them() -> None:
    source = notebook(markdown("# title"), code("a = 1\nb = 2"), markdown("x"), code("\n\nc = 3"))
    second = source.location(line(2))
    assert (second.cell, second.range) == (2, line(2))
    third = source.location(line(5))
    assert (third.cell, third.range) == (4, line(3))


def test_a_range_that_ends_in_the_next_cell_counts_from_its_own() -> None:
    source = notebook(code("a = 1"), code("b = 2"))
    place = source.location(Range(Position(1, 1), Position(2, 1)))
    assert (place.cell, place.range) == (1, Range(Position(1, 1), Position(2, 1)))


def test_magics_keep_the_lines_of_the_cell() -> None:
    source = notebook(code("%matplotlib inline\nx = !ls\n"), code("%%bash\nls -l\nrm x"), code("y = 1"))
    assert [text.strip() for text in source.text.splitlines()] == ["pass", "x = _", "", "", "", "y = 1"]
    assert source.location(line(6)).cell == 3


def test_format_3_keeps_cells_in_worksheets() -> None:
    cells = [
        {"cell_type": "heading", "source": "t"},
        {"cell_type": "code", "language": "python", "input": ["a\n", "b"]},
    ]
    text = json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]})
    source = source_from_text(text, Path("/p/a.ipynb"), "a.ipynb")
    assert source.text == "a\nb\n"
    assert source.location(line(2)).cell == 2


@pytest.mark.parametrize("name", ["R", "julia", "C++17"])
def test_another_kernel_has_no_python(name: str) -> None:
    assert notebook(code("x <- 1"), metadata={"kernelspec": {"language": name}}).text == ""


def test_a_notebook_that_does_not_say_is_python() -> None:
    assert notebook(code("x = 1"), metadata={}).text == "x = 1\n"


def test_a_cell_in_another_language_is_left_out() -> None:
    shell = code("ls", metadata={"vscode": {"languageId": "shellscript"}})
    source = notebook(shell, code("x = 1"))
    assert source.text == "x = 1\n"
    assert source.location(line(1)).cell == 2


def test_broken_json_is_shown_where_it_breaks(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": [\n  {"cell_type": "code",, }\n]}')
    with pytest.raises(SourceError, match="broken notebook: ") as caught:
        read_source(path, "a.ipynb")
    assert caught.value.position == Position(2, 24)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "the top level is not an object"),
        ("{}", "it has no cells"),
        ('{"cells": {}}', "it has no cells"),
        ('{"cells": ["x"]}', "cell 1 is not an object"),
        ("", "broken notebook"),
        ("[" * 200_000, "broken notebook"),
        ('{"worksheets": 3}', "it has no cells"),
        ('{"worksheets": [{"cells": ["x"]}]}', "cell 1 is not an object"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        source_from_text(text, Path("/p/a.ipynb"), "a.ipynb")


def test_suppressions_in_cells_are_found() -> None:
    source = notebook(code("%time f()\nx = 1  # noqa: TRP101"))
    assert [(item.line, item.codes) for item in source.suppressions] == [(2, ("TRP101",))]


def test_the_languages_of_the_code_in_a_notebook() -> None:
    julia = {"kernelspec": {"language": "Julia"}}
    own = code("x = 1", metadata={"vscode": {"languageId": "python"}})
    assert languages(notebook(code("x = 1"), code(""), markdown("x"), metadata=julia).document) == ("Julia",)
    assert languages(notebook(code("x = 1"), own, metadata=julia).document) == ("Julia", "python")
    assert languages(notebook(markdown("x"), metadata=julia).document) == ()


@pytest.mark.parametrize(
    ("cell", "is_indented"),
    [
        ("    x = 1\n    for i in y:\n        x += i\n", True),
        ("\n  # above\n\n  x = 1\n  y = 2", True),
        ("\tx = (1,\r\n\t  2)\r\n\ty = 2\r\n", True),
        ("   %matplotlib inline\n   x = 1", True),
        ("  # a comment alone\nx = 1\nif x:\n    y = 2", False),
        ("x = 1\nif x:\n    y = 2", False),
        ("  \n", False),
    ],
)
def test_a_cell_that_is_indented_as_a_whole_is_read_as_ipython_does(cell: str, is_indented: bool) -> None:
    source = notebook(code("import torch"), code(cell))
    assert source.is_rewritten == is_indented
    assert len(source.text) == len("import torch\n") + len(cell) + (not cell.endswith("\n"))
    compile(source.text, "a.ipynb", "exec")
    tree, lines = ast.parse(source.text), ["import torch", *re.split(r"\r?\n", cell)]
    names = [(n.id, n.lineno, n.col_offset) for n in ast.walk(tree) if isinstance(n, ast.Name)]
    assert all(lines[row - 1][column:].startswith(name) for name, row, column in names)


def test_a_cell_that_ipython_does_not_read_either_is_an_error_of_its_line() -> None:
    source = notebook(code("# at the left\n  x = 1\n  y = 2"))
    with pytest.raises(SyntaxError):
        compile(source.text, "a.ipynb", "exec")
