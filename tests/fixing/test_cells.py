"""Notebooks: a fix changes the strings of the cells it edits, and no other byte of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint import cards
from torchrepro_lint.engine import Request
from torchrepro_lint.fixing.cells import in_one_cell, rewrite_cells
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.source import SourceFile, source_from_text

NOTEBOOK = """\
{
 "cells": [
  {
   "cell_type": "markdown", "id": "a1", "metadata": {},
   "source": ["# Gr\\u00fc\\u00dfe \\/ caf\\u00e9"]
  },
  {
   "id": "b2",
   "cell_type": "code",
   "source": [
    "%matplotlib inline\\n",
    "# \\ud83d\\ude00 os\\n",
    "import os\\n",
    "from torch.utils.data import DataLoader"
   ],
   "outputs": [{"data": {"text/plain": ["x\\t1"]}, "output_type": "execute_result"}],
   "execution_count": 3, "metadata": {"collapsed":false}
  },
  {
   "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
   "source": "%%time\\nloader = DataLoader(data, shuffle=True)\\nfiles = os.listdir('.')\\nfirst = files[0]"
  }
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"""


def notebook(text: str) -> SourceFile:
    return source_from_text(text, Path("/p/a.ipynb"), "a.ipynb")


def fixed(folder: Path, data: bytes, *codes: str) -> bytes:
    (folder / "pyproject.toml").write_text("")
    path = folder / "a.ipynb"
    path.write_bytes(data)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": list(codes)})
    result = fix(Request((path,), resolver), unsafe=True, write=True)
    assert (result.findings, result.fixed > 0) == ((), True)
    return path.read_bytes()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_only_the_edited_strings_change(tmp_path: Path, newline: str, mark: bytes) -> None:
    before = mark + NOTEBOOK.replace("\n", newline).encode()
    after = fixed(tmp_path, before, "TRP201", "TRP204")
    wanted = (
        NOTEBOOK.replace('    "from torch.utils', '    "import torch\\n",\n    "from torch.utils')
        .replace("shuffle=True)", "shuffle=True, generator=torch.Generator().manual_seed(0))")
        .replace("os.listdir('.')", "sorted(os.listdir('.'))")
    )
    assert after == mark + wanted.replace("\n", newline).encode()


def test_the_last_line_of_a_cell_goes_with_its_newline() -> None:
    lines = ["import torch\n", "x = 1\n", "# torchrepro: ignore[TRP101]"]
    text = json.dumps({"cells": [{"cell_type": "code", "source": lines}, {"cell_type": "code", "source": "y = 1"}]})
    source = notebook(text)
    start, end = source.text.index("# torch"), source.text.index("y = 1")
    assert rewrite_cells(source, [(start, end, "")]) == text.replace(', "# torchrepro: ignore[TRP101]"', "").replace(
        "x = 1\\n", "x = 1"
    )


def test_worksheets_of_format_3_are_written() -> None:
    cells = [{"cell_type": "code", "input": ["x = 1\n", "y = 2"], "language": "python"}]
    text = json.dumps({"worksheets": [{"cells": []}, {"cells": cells}], "metadata": {}}, indent=1)
    source = notebook(text)
    place = source.text.index("1")
    assert rewrite_cells(source, [(place, place + 1, "3\nz = 4")]) == text.replace(
        '"x = 1\\n"', '"x = 3\\n",\n      "z = 4\\n"'
    )


def test_no_edit_crosses_cells() -> None:
    source = notebook(json.dumps({"cells": [{"cell_type": "code", "source": c} for c in ("a = 1\n", "b = 2\n")]}))
    assert in_one_cell(source, 0, 6)
    assert in_one_cell(source, 6, 12)
    assert not in_one_cell(source, 4, 8)


characters = st.text(st.sampled_from('ab\n"\\é😀\t'), max_size=12)


@given(st.lists(characters, min_size=1, max_size=3), st.data(), st.booleans(), st.sampled_from([None, 1]))
def test_what_is_written_reads_as_the_edited_code(
    texts: list[str], data: st.DataObject, ascii_only: bool, indent: int | None
) -> None:
    cells = [
        {"cell_type": "code", "source": text if data.draw(st.booleans()) else text.splitlines(keepends=True)}
        for text in texts
    ]
    source = notebook(json.dumps({"cells": cells, "metadata": {}}, ensure_ascii=ascii_only, indent=indent))
    if not source.cells:
        return
    index = data.draw(st.integers(0, len(source.cells) - 1))
    number = source.cells[index][1]
    code = texts[number - 1]
    start = data.draw(st.integers(0, len(code.removesuffix("\n"))))  # what follows is the next cell's
    end = data.draw(st.integers(start, len(code)))
    new = data.draw(characters)
    first = source.line_starts[source.cells[index][0] - 1]
    written = rewrite_cells(source, [(first + start, first + end, new)])
    read = json.loads(written)
    for at, (cell, was) in enumerate(zip(read["cells"], texts, strict=True), start=1):
        whole = "".join(cell["source"])
        assert whole == (code[:start] + new + code[end:] if at == number else was)
        assert isinstance(cell["source"], str) or all(line.endswith("\n") for line in cell["source"][:-1])
        assert isinstance(cell["source"], str) or not whole or "" not in cell["source"]
    assert rewrite_cells(source, []) == source.document


def test_a_new_line_is_indented_as_the_one_above_it() -> None:
    text = '{"cells": [{"cell_type": "code", "source": ["a\\n",\n  "b\\n",\n      "c\\n",\n  "d"]}]}'
    source = notebook(text)
    place = source.text.index("c")
    assert rewrite_cells(source, [(place, place, "x\n")]) == text.replace('"c\\n"', '"x\\n",\n      "c\\n"')


def test_an_empty_string_among_the_lines_of_a_cell_stays() -> None:
    text = '{"cells": [{"cell_type": "code", "source": ["",  "a\\n",\n "b"]}]}'
    source = notebook(text)
    place = source.text.index("b")
    assert rewrite_cells(source, [(place, place, "x")]) == text.replace('"b"', '"xb"')
