"""What the index knows of one file: scopes, bindings, calls, assignments; and how it bears hard input."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchrepro_lint.index import ModuleFacts, ParseError, build
from torchrepro_lint.source import source_from_text


def index(text: str) -> ModuleFacts:
    return build(source_from_text(text, Path("/project/m.py"), "m.py"))


def kinds(facts: ModuleFacts, name: str) -> list[str]:
    return [b.kind for b in facts.scope.bindings.get(name, [])]


def test_every_way_to_bind_a_name() -> None:
    facts = index(
        "import a, b.c, d.e as f\nfrom g import h as i\nj = 1\nk: int = 2\n(l, [m, *n]) = o\np += 1\n"
        "for q in r: pass\nwith s as t: pass\ndef u(): pass\nclass v: pass\nif (w := 1): pass\n"
        "try: pass\nexcept E as x: pass\nmatch y:\n    case {'k': z, **rest}: pass\n    case [aa, *bb] as cc: pass\n"
    )
    assert {name: kinds(facts, name) for name in ("a", "b", "f", "i")} == {name: ["import"] for name in "abfi"}
    assert [facts.scope.bindings[n][0].target for n in ("a", "b", "f", "i")] == ["a", "b", "d.e", "g.h"]
    assert kinds(facts, "j") == kinds(facts, "k") == kinds(facts, "w") == ["assign"]
    assert kinds(facts, "l") == kinds(facts, "m") == ["unpack"]
    assert facts.scope.bindings["m"][0].path == (1, 0)
    assert kinds(facts, "n") == kinds(facts, "p") == kinds(facts, "x") == ["other"]
    assert (kinds(facts, "q"), kinds(facts, "t"), kinds(facts, "u"), kinds(facts, "v")) == (
        ["loop"], ["with"], ["function"], ["class"],
    )  # fmt: skip
    assert all(kinds(facts, n) == ["other"] for n in ("z", "rest", "aa", "bb", "cc"))


def test_names_are_looked_up_as_python_does() -> None:
    facts = index(
        "x = 0\nclass C:\n    x = 1\n    def f(self):\n        return x\n"
        "def outer():\n    x = 2\n    def inner():\n        nonlocal x\n        x = 3\n"
        "    def glob():\n        global x\n        x = 4\n"
    )
    method = next(s for s in facts.scope.descend() if s.name == "C.f")
    assert method.binding_scope("x") is facts.scope
    outer = next(s for s in facts.scope.descend() if s.name == "outer")
    inner = next(s for s in facts.scope.descend() if s.name == "outer.inner")
    assert inner.binding_scope("x") is outer
    assert len(outer.bindings["x"]) == 2
    assert len(facts.scope.bindings["x"]) == 2


def test_what_a_definition_begins_with_is_evaluated_outside() -> None:
    facts = index(
        "@o1\ndef f(a: o2 = o3, *, b=(lambda c=o4: i1)) -> o5:\n"
        "    return i2, [i3 for x in i4 if i5], lambda d=i6: i7\n"
        "@o6\nclass C(o7, metaclass=o8):\n    e = i8\n"
    )
    names = [n for n in ast.walk(facts.tree) if isinstance(n, ast.Name)]
    scopes = {n.id: facts.scope_of(n) for n in names}
    assert {name for name, scope in scopes.items() if scope is facts.scope} == {*(f"o{i}" for i in range(1, 9))}
    assert [scopes[f"i{i}"].kind for i in range(1, 9)] == [
        "lambda", "function", "comprehension", "function", "comprehension", "function", "lambda", "class",
    ]  # fmt: skip


def test_attributes_belong_to_their_class() -> None:
    facts = index(
        "class Trainer:\n    def __init__(this, loader):\n        this.loader = loader\n        other.loader = 1\n"
        "    @staticmethod\n    def make(cls):\n        cls.made = 1\n"
    )
    trainer = next(s for s in facts.scope.descend() if s.name == "Trainer")
    assert list(trainer.attributes) == ["loader"]
    assert len(trainer.attributes["loader"]) == 1
    assert len(facts.attribute_sets["loader"]) == 2


def test_calls_keep_their_order_and_scope() -> None:
    facts = index(
        "f(1)\ndef g(a=f(2)):\n    f(3)\n    [f(4) for _ in f(5)]\nlambda: f(6)\n@f(7)\nclass C(f(8)):\n    f(9)\n"
    )
    found = [(ast.unparse(c.args[0]), s.kind) for c, s in facts.calls["f"]]
    assert sorted(found) == [
        ("1", "module"), ("2", "module"), ("3", "function"), ("4", "comprehension"), ("5", "function"),
        ("6", "lambda"), ("7", "module"), ("8", "module"), ("9", "class"),
    ]  # fmt: skip


def test_aliases_lead_to_other_names() -> None:
    facts = index("from torch.utils.data import DataLoader as DL\nimport torch\nLoader = torch.utils.data.DataLoader\n")
    assert facts.aliases["DataLoader"] == {"DL", "Loader"}


def test_sets_and_the_guard() -> None:
    facts = index(
        "import os\nos.environ['PYTHONHASHSEED'] = '0'\ntorch.backends.cudnn.benchmark = True\n"
        "if '__main__' == __name__:\n    main()\n"
    )
    assert len(facts.subscript_sets["PYTHONHASHSEED"]) == 1
    assert ast.unparse(facts.attribute_sets["benchmark"][0].target) == "torch.backends.cudnn.benchmark"
    assert facts.guard is not None
    assert facts.guard.lineno == 4


@pytest.mark.parametrize(
    ("text", "line"),
    [("def f(:\n", 1), ("x = 1\ny = (\n", 2), ("x = '\n", 1), ("if x:\ny\n", 2)],
)
def test_what_is_not_python_says_where(text: str, line: int) -> None:
    with pytest.raises(ParseError) as error:
        index(text)
    assert error.value.position is not None
    assert error.value.position.line == line
    assert error.value.message


def test_what_python_can_nest_is_indexed() -> None:
    assert len(index("x = " + "+".join(["f()"] * 900)).calls["f"]) == 900
    assert len(index("x" + ".a(1)" * 900).calls["a"]) == 900
    nested = "".join(" " * i + "if x:\n" for i in range(90)) + " " * 90 + "f()\n"
    assert len(index(nested).calls["f"]) == 1


@pytest.mark.parametrize("text", ["(" * 5000 + ")" * 5000, "-" * 100_000 + "1", "x = " + "[" * 1000 + "]" * 1000])
def test_what_python_cannot_nest_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as error:
        index(text)
    assert "nested" in error.value.message or "complex" in error.value.message


def test_a_file_of_100_000_lines() -> None:
    facts = index("f(1)\n" * 100_000)
    assert len(facts.calls["f"]) == 100_000
