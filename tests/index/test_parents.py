"""What holds a node, read statement by statement."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from torchrepro_lint.index import Parents, children

HARD = [
    "a = 1; b = f(2); c = g(b)\n",
    "if a: b = f(1); c = 2\nelse:\n    d = f(3)\n",
    "@made(1)\n@other\ndef f(x=g(1)): return x; y = 1\n",
    "x = [\n    f(1),\n]; y = [\n    f(2),\n]; z = 3\n",
    "s = f'{f(1)} {g(2):{h(3)}}'\nt = f'''\n{f(4)}\n'''\n",
    "try:\n    a()\nexcept E as e:\n    b(e)\nfinally:\n    c()\nmatch x:\n    case [1, y] if f(y): g()\n",
    "class A:\n    b = f(1)\n    def c(self):\n        for d in e(2): f(d); g(d)\n",
]


@pytest.mark.parametrize("text", [*HARD, Path(ast.__file__).read_text()], ids=range(len(HARD) + 1))
def test_each_node_is_held_by_what_holds_it_in_any_order(text: str) -> None:
    tree = ast.parse(text)
    held: dict[ast.AST, ast.AST] = {}
    pending: list[ast.AST] = [tree]
    for holder in pending:
        held |= dict.fromkeys(children(holder), holder)
        pending += children(holder)
    nodes = list(held)
    for seed in range(3):
        random.Random(seed).shuffle(nodes)
        parents = Parents(tree)
        assert all(parents.get(node) is held[node] for node in nodes)
        assert parents.get(tree) is None
        assert list(parents.above(nodes[0]))[-1] is tree


def test_a_node_of_another_file_has_none() -> None:
    parents = Parents(ast.parse("x = f(1)\n"))
    assert parents.get(ast.parse("f(1)").body[0]) is None
