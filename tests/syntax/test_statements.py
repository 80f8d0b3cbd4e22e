"""Statements go in where they were meant to, whatever stands around them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import torchrepro_lint
from torchrepro_lint.fixing import apply_edits
from torchrepro_lint.index import ModuleFacts, build
from torchrepro_lint.model import Edit, Fix, Safety
from torchrepro_lint.source import source_from_text
from torchrepro_lint.syntax import insert_after, insert_before, insert_first


def facts_of(text: str) -> ModuleFacts:
    return build(source_from_text(text, Path("/p/m.py"), "m.py"))


def applied(facts: ModuleFacts, edit: Edit) -> str:
    text = apply_edits({"m.py": facts.source}.get, [Fix(Safety.SAFE, "", (edit,))]).documents["m.py"]
    ast.parse(text)
    return text


def holding(facts: ModuleFacts, name: str) -> ast.stmt:
    """The statement that calls `name`."""
    return facts.statement(facts.calls[name][0][0])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("use()\n", "new()\nuse()\n"),
        ("a = 1; use()\n", "a = 1; new(); use()\n"),
        # A heading between two rules belongs to what comes below it, whatever blank lines are between them.
        (
            "a = 1\n\n# ------ #\n#  Model\n# ------ #\n\n# Layers\nuse()\n",
            "a = 1\n\nnew()\n# ------ #\n#  Model\n# ------ #\n\n# Layers\nuse()\n",
        ),
        ("a = 1\n\n# Model\n\n# Layers\nuse()\n", "a = 1\n\n# Model\n\nnew()\n# Layers\nuse()\n"),
        ("for x in y: use()\n", "for x in y: new(); use()\n"),
        ("if x:\n\tuse()\n", "if x:\n\tnew()\n\tuse()\n"),
        ("if x:\r\n  # why\r\n  use()\r\n", "if x:\r\n  new()\r\n  # why\r\n  use()\r\n"),
        ("# the file\nuse()\n", "# the file\nnew()\nuse()\n"),
        ("# the file\n\n# why\nuse()\n", "# the file\n\nnew()\n# why\nuse()\n"),
        ("x = 1\n# %% cell\n# why\nuse()\n", "x = 1\n# %% cell\nnew()\n# why\nuse()\n"),
        ("x = [  # one\n    1,\n]\nuse()", "x = [  # one\n    1,\n]\nnew()\nuse()"),
        ("match x:\n    case 1:\n        use()\n", "match x:\n    case 1:\n        new()\n        use()\n"),
        ("async def f():\n    await use()\n", "async def f():\n    new()\n    await use()\n"),
        ("x = \\\n    use()\n", "new()\nx = \\\n    use()\n"),
        ("if (n := use()) > 1:\n    pass\n", "new()\nif (n := use()) > 1:\n    pass\n"),
        ("# c\n\n@use()\ndef f(): pass\n", "# c\n\nnew()\n@use()\ndef f(): pass\n"),
    ],
)
def test_a_statement_put_before_another(before: str, after: str) -> None:
    facts = facts_of(before)
    assert applied(facts, insert_before(facts, holding(facts, "use"), "new()")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("use()\n", "use()\nnew()\n"),
        ("use()", "use()\nnew()"),
        ("use()  # why\nx = 1\n", "use()  # why\nnew()\nx = 1\n"),
        ("use(); x = 1\n", "use(); new(); x = 1\n"),
        ("def f(): use()\n", "def f(): use(); new()\n"),
        ("if x:\n\tuse(\n\t\t1)\n", "if x:\n\tuse(\n\t\t1)\n\tnew()\n"),
        ("use(f'''{x\n}''')\n", "use(f'''{x\n}''')\nnew()\n"),
    ],
)
def test_a_statement_put_after_another(before: str, after: str) -> None:
    facts = facts_of(before)
    assert applied(facts, insert_after(facts, holding(facts, "use"), "new()")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    x = 1\n", "def f():\n    new()\n    x = 1\n"),
        ("def f(): pass\n", "def f(): new(); pass\n"),
        ('def f():\n    """Doc."""\n    x = 1\n', 'def f():\n    """Doc."""\n    new()\n    x = 1\n'),
        ('def f():\n    """Doc."""', 'def f():\n    """Doc."""\n    new()'),
        ("def f():\n    import a\n    from b import c\n    x = 1\n",
         "def f():\n    import a\n    from b import c\n    new()\n    x = 1\n"),
        ("if x:\n    import a\n\n    y = 1\n", "if x:\n    import a\n\n    new()\n    y = 1\n"),
        ("if x:\n    import a", "if x:\n    import a\n    new()"),
        ("for x in y:\n    # why\n    z()\n", "for x in y:\n    new()\n    # why\n    z()\n"),
        ("@d\nasync def f(a, *b, c=lambda: 1, **d) -> None:\n\tg()\n",
         "@d\nasync def f(a, *b, c=lambda: 1, **d) -> None:\n\tnew()\n\tg()\n"),
    ],
)  # fmt: skip
def test_a_statement_put_first(before: str, after: str) -> None:
    facts = facts_of(before)
    assert applied(facts, insert_first(facts, facts.tree.body[0], "new()")) == after


@pytest.mark.parametrize("comment", ["~" * 20_000 + "x", "a." * 5_000 + "b", 'print("\\d")'])
def test_a_comment_may_be_code_that_no_parser_takes(
    comment: str, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    text = f'import torch\n\nprint("Initializing model")\n# {comment}\nmodel = torch.nn.Linear(3, 3)\n'
    (tmp_path / "a.py").write_text(f"{text}model(torch.ones(2, 3)).sum().backward()\n")
    assert [f.code for f in torchrepro_lint.check(tmp_path).findings] == ["TRP101"]
    assert not recwarn.list
