"""Which findings are the same in another version of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint.fingerprints import identity, statement_at, with_fingerprints
from torchrepro_lint.index import build
from torchrepro_lint.model import Certainty, Finding, Level, Location, Position, Range
from torchrepro_lint.source import source_from_text

PLACE = Location("train.py", Range(Position(1, 1), Position(1, 2)))


def statement(text: str, line: int = 1) -> str:
    source = source_from_text(text, Path("/project/train.py"), "train.py")
    return statement_at(source, build(source), line)


def finding(text: str, line: int = 1, family: str = "") -> Finding:
    properties = {"family": family} if family else {}
    return Finding(
        "TRP201", "n", Level.WARNING, Certainty.CERTAIN, "m", PLACE, properties, statement=statement(text, line)
    )


@pytest.mark.parametrize(
    "text",
    [
        "loader=DataLoader(data,shuffle=True,name='a')\n",
        "loader = DataLoader(data, shuffle=True, name='a')  # noqa: TRP201\n",
        'loader = DataLoader(\n    data,  # the "data"\n    shuffle=True,\n    name="a",  # x\n)\n',
        "loader = (\r\n    DataLoader(data, shuffle=True, name='a')\r\n)\r\n",
        "loader = \\\n    DataLoader(data, shuffle=True, name='a')",
        "loader = DataLoader(data, shuffle=(True), name=('a'),)\n",
    ],
)
def test_layout_comments_quotes_and_parentheses_do_not_count(text: str) -> None:
    plain = "loader = DataLoader(data, shuffle=True, name='a')\n"
    assert identity(finding(text)) == identity(finding(plain))


@pytest.mark.parametrize(
    "text",
    [
        "loader = DataLoader(data, shuffle=True, name='a ')\n",
        "loader = DataLoader(data, shuffle=True, name='a#')\n",
        "loader = DataLoader(data, shuffle=False, name='a')\n",
        "other = DataLoader(data, shuffle=True, name='a')\n",
    ],
)
def test_what_the_statement_says_counts(text: str) -> None:
    plain = "loader = DataLoader(data, shuffle=True, name='a')\n"
    assert identity(finding(text)) != identity(finding(plain))


def test_of_a_compound_statement_the_header_counts() -> None:
    text = "for epoch in range(\n    3\n):  # x\n    step()\n"
    assert statement(text) == statement(text, 2) == "forepochinrange(3):"
    assert statement(text, 4) == "step()"
    assert statement("@wrap\ndef main():\n    pass\n", 2) == "@wrapdefmain():"


def test_any_line_of_a_statement_and_a_line_without_one() -> None:
    text = "x = f(\n    1,\n)\n# x\n\n"
    assert {statement(text, line) for line in (1, 2, 3)} == {"x=f(1)"}
    assert {statement(text, line) for line in (4, 5, 6)} == {""}


def test_equal_statements_are_numbered_and_families_kept_apart() -> None:
    one, two, numpy = finding("f()\n"), finding("f( )\n"), finding("f()\n", family="numpy")
    prints = [found.fingerprint for found in with_fingerprints([one, two, numpy])]
    assert len(set(prints)) == 3
    assert [found.fingerprint for found in with_fingerprints([one])] == prints[:1]
