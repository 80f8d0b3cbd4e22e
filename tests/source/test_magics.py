"""IPython's own lines become Python of the same shape, and Python stays as it is."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.source.magics import replace_magics


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install torch", "pass"),
        ("!pip install \\\n    torch\nx = 1", "pass\n\nx = 1"),
        ("!echo 'it\nx = 1", "pass\nx = 1"),
        ("?print", "pass"),
        ("model.fit??", "pass"),
        ("x?", "_"),
        ("!x", "_"),
        (",f a b\n;g c d\n/h e", "pass\npass\npass"),
        ("files = !ls", "files = _"),
        ("a, b = %sql select 1", "a, b = _"),
        ("x.y[0] = %who_ls", "x.y[0] = _"),
        ("if x:\n    !ls\n    y = !pwd\n", "if x:\n    _\n    y = _\n"),
        ("%time model.fit()", "pass; model.fit()"),
        ("%timeit -n 10 f(x)", "pass;         f(x)"),
        ("y = %time f(x)", "y =       f(x)"),
        ("%time !ls", "pass"),
        ("pip install torch\nls data", "pass\npass"),
        ("cd 'My Notebooks'\ncd \"data\"\ncd drive/My\\ Drive\nls $HOME", "pass\npass\npass\npass"),
        ("%%time\nx = 1\n%ls", "\nx = 1\n_"),
        ("%%capture out\n%%time\nx = 1", "\n\nx = 1"),
        ("\n%%bash\nls\n", "\n\n\n"),
        ("%%writefile train.py\nimport torch\n", "\n\n"),
        ("%%bash\r\nls\r\n", "\r\n\r\n"),
    ],
)
def test_what_becomes_of_a_cell(cell: str, wanted: str) -> None:
    replaced = replace_magics(cell)
    assert re.sub(r"[ \t]+(?=\r?$)", "", replaced, flags=re.MULTILINE) == wanted
    assert len(replaced) == len(cell)
    ast.parse(textwrap.dedent(replaced))


@pytest.mark.parametrize(
    "cell",
    [
        "x = 7 % 2",
        "y = (7\n    % 2)",
        "y = 7 \\\n  % 2",
        "text = '''\n%matplotlib inline\n!ls\n'''",
        'text = """it\'s\n!ls\n"""',
        "print('really?')\n# really?\nx = 1",
        "x = '%d' % 3  # = %d",
        "ls = [1, 2]\ncd = 3\nprint(cd - 1)",
        "f(a,\n  '(',  # :-)\n  b)\ny = {1: 2,\n}",
        "if a != b:\n    pass",
        "x = r'\\'\ny = 1",
    ],
)
def test_python_is_left_alone(cell: str) -> None:
    assert replace_magics(cell) == cell


@given(st.text(st.sampled_from(list("ab%!?=\\'\"()# \t\r\n")), max_size=60))
def test_no_character_moves(cell: str) -> None:
    replaced = replace_magics(cell)
    assert len(replaced) == len(cell)
    assert re.sub(r"[^\r\n]", ".", replaced) == re.sub(r"[^\r\n]", ".", cell)


def test_blank_lines_before_a_command_take_no_time() -> None:
    cell = "\r\n" * 5000 + "!ls\r\n"
    assert replace_magics(cell) == "\r\n" * 5000 + "_  \r\n"
