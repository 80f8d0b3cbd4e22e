"""An argument put between empty parentheses, whatever stands in them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchrepro_lint.checks.argument_edit import first_argument
from torchrepro_lint.index import build
from torchrepro_lint.source import source_from_text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rng = make()", "rng = make(7)"),
        ("rng = make(  )", "rng = make(7)"),
        ("rng = (a . make) ()", "rng = (a . make) (7)"),
        ("rng = make(\n    # quick (enough)\n)", "rng = make(7\n    # quick (enough)\n)"),
        ("ü = make()", "ü = make(7)"),
    ],
)
def test_only_the_argument_is_added(before: str, after: str) -> None:
    facts = build(source_from_text(before, Path("/p/a.py"), "a.py"))
    [(call, _)] = facts.calls["make"]
    edit = first_argument(facts, call, "7")
    start, end = facts.source.offset(edit.range.start), facts.source.offset(edit.range.end)
    assert before[:start] + edit.text + before[end:] == after
    assert isinstance(ast.parse(after), ast.Module)
