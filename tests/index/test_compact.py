"""Compact trees: the same as plain ones to whoever looks at them, but smaller."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import torchrepro_lint
from torchrepro_lint import cards, checking
from torchrepro_lint.engine import Request, check
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.index.compact import compact
from torchrepro_lint.project import files
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.source import SourceFile

TEXTS = sorted(Path(torchrepro_lint.__file__).parent.glob("*.py"))
PROGRAM = Path(__file__).parents[1] / "proof" / "programs" / "gan"


def _trees(path: Path) -> tuple[ast.Module, ast.Module]:
    text = path.read_text()
    return ast.parse(text), compact(ast.parse(text), text.count("\n") + 1)


@pytest.mark.parametrize("written", [ast.dump, ast.unparse])
def test_they_say_the_same(written: Callable[[ast.AST], str]) -> None:
    for path in TEXTS:
        plain, small = _trees(path)
        assert written(small) == written(plain), path


def test_each_node_is_where_it_was_and_of_its_class() -> None:
    for path in TEXTS:
        for plain, small in zip(*map(ast.walk, _trees(path)), strict=True):
            assert isinstance(small, type(plain))
            assert all(getattr(small, name) == getattr(plain, name) for name in plain._attributes)


def test_a_node_needs_no_dict_and_no_line_numbers_of_its_own() -> None:
    _, small = _trees(TEXTS[0])
    names = [node for node in ast.walk(small) if isinstance(node, ast.Name)]
    assert names
    assert not any(vars(node) for node in names)
    text = "\n" * 500 + "a = b\n"
    [statement] = compact(ast.parse(text), text.count("\n") + 1).body
    assert isinstance(statement, ast.Assign)
    assert statement.lineno is statement.value.lineno is statement.end_lineno


def test_nesting_costs_no_stack() -> None:
    deep = ast.Expr(ast.Constant(1))
    for _ in range(10 * sys.getrecursionlimit()):
        deep = ast.Expr(deep)  # type: ignore[arg-type]
    [top] = compact(ast.Module([deep], []), 1).body
    assert isinstance(top, ast.Expr)


@pytest.mark.parametrize("plain", [0, 40, 1_000_000])
def test_findings_do_not_hang_on_it(plain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[bool] = []
    build = checking.build

    def noted(source: SourceFile, *, is_compact: bool) -> ModuleFacts:
        built.append(is_compact)
        return build(source, is_compact=is_compact)

    monkeypatch.setattr(checking, "build", noted)
    request = Request((PROGRAM,), SettingsResolver(cards.codes(), isolated=True))
    usual = check(request).findings
    built.clear()
    monkeypatch.setattr(files, "PLAIN_LINES", plain)
    monkeypatch.setattr(files, "PLAIN_BYTES", 0)
    assert check(request).findings == usual
    assert (True in built) == (plain < 1_000_000)
