"""Positions are exact, in characters, wherever a call stands: also inside f-strings on every Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.index import ModuleFacts, build
from torchrepro_lint.source import source_from_text


def index(text: str) -> ModuleFacts:
    return build(source_from_text(text, Path("/project/m.py"), "m.py"))


def called(text: str, name: str) -> list[str]:
    """The source of every call of `name`, cut out at the position that the index gives."""
    facts = index(text)
    return [facts.text(node) for node, _ in facts.calls.get(name, [])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f'{draw(1)}'", "draw(1)"),
        ("x = f'a{{b}}{draw( 1 )!r:>{width}}'", "draw( 1 )"),
        ("x = f'{value:{draw(2)}}'", "draw(2)"),
        ("x = f'{a == draw(3)}'", "draw(3)"),
        ("x = f'{draw(4)=}'", "draw(4)"),
        ("x = 'plain {draw(0)}' f'{draw(5)}'", "draw(5)"),
        ("x = f'''one\n  {draw(6)}\n'''", "draw(6)"),
        ("x = (f'{1}'  # f'{draw(0)}'\n     f'{draw(7)}')", "draw(7)"),
        ("x = f'ä{draw(8)}'", "draw(8)"),
        ("x = f'\\N{BULLET}{draw(9)}'", "draw(9)"),
        ("x = rf'\\{draw(10)}'", "draw(10)"),
        ("x = f'{ {1: draw(11)}[1] }'", "draw(11)"),
        ("x = f'{(lambda: draw(12))()}'", "draw(12)"),
        ("x = f'{f\"{draw(13)}\"}'", "draw(13)"),
        ("def f():\n    return f'é {obj.draw(14)}'", "obj.draw(14)"),
    ],
)
def test_calls_in_f_strings(text: str, expected: str) -> None:
    assert called(text, "draw") == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "x = draw(\n    1,\n)",
        "\ufeffx = draw(1)"[1:],
        "x = 'äöü'; y = draw('ß')",
        "if x:\r\n\ty = draw(1)\r\n",
        "\fx = draw(1)",
        "x = \\\n    draw(1)",
        "a = '\x85 not a line'; b = draw(1)",
        "a = '\u2028'; b = draw(1)",
    ],
)
def test_calls_in_odd_layouts(text: str) -> None:
    found = called(text, "draw")
    assert len(found) == 1
    assert found[0].startswith("draw(")
    assert found[0].endswith(")")


@given(prefix=st.text(alphabet=st.sampled_from("aä𝛼 #\t{}"), max_size=8), inside=st.integers(0, 99))
def test_any_text_before_a_call_in_an_f_string(prefix: str, inside: int) -> None:
    escaped = prefix.replace("{", "{{").replace("}", "}}")
    assert called(f"x = f'{escaped}{{draw({inside})}}'", "draw") == [f"draw({inside})"]


def test_the_statement_of_a_line() -> None:
    facts = index(
        "@decorate\n@again(\n    1\n)\ndef f(\n    a,\n):\n    x = call(\n        1,\n    )\n    return x\n"
        "match x:\n    case 1:\n        y = 2\n"
    )
    assert facts.statement_lines(2) == (1, 7)
    assert facts.statement_lines(6) == (1, 7)
    assert facts.statement_lines(9) == (8, 10)
    assert facts.statement_lines(11) == (11, 11)
    assert facts.statement_lines(12) == (12, 12)
    assert facts.statement_lines(14) == (14, 14)
