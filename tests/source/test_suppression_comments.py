"""How suppressions are written, where they are, and what only looks like one."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.source import SourceFile, Suppression, source_from_text


def make(text: str) -> SourceFile:
    return source_from_text(text, Path("/p/a.py"), "a.py")


def only(text: str) -> Suppression:
    (found,) = make(text).suppressions
    return found


@pytest.mark.parametrize(
    ("comment", "kind", "codes", "foreign"),
    [
        ("# noqa", "noqa", None, False),
        ("#NOQA", "noqa", None, False),
        ("# noqa because", "noqa", None, False),
        ("# noqa: TRP101", "noqa", ("TRP101",), False),
        ("# noqa:trp101", "noqa", ("TRP101",), False),
        ("# NoQA : TRP101", "noqa", ("TRP101",), False),
        ("# noqa: TRP101, E501 TRP2", "noqa", ("TRP101", "TRP2"), True),
        ("# noqa: TRP101,TRP102", "noqa", ("TRP101", "TRP102"), False),
        ("# noqa: unseeded-program", "noqa", ("unseeded-program",), False),
        ("# noqa: TRP101, Loader-Without-generator", "noqa", ("TRP101", "loader-without-generator"), False),
        ("# noqa: TRP101 well-known", "noqa", ("TRP101",), False),
        ("# noqa: TRP101 - TRP102 is wanted", "noqa", ("TRP101",), False),
        ("# noqa: this is fine", "noqa", None, False),
        ("# torchrepro: ignore", "ignore", None, False),
        ("# torchrepro: ignore the order", "ignore", None, False),
        ("#torchrepro:ignore[TRP101]", "ignore", ("TRP101",), False),
        ("# torchrepro: ignore[trp101, Seed-After-draw] why", "ignore", ("TRP101", "seed-after-draw"), False),
        ("# torchrepro: ignore[no such rule]", "ignore", ("no such rule",), False),
        ("# torchrepro: ignore[]", "ignore", (), False),
        ("# torchrepro: ignore[TRP101", "ignore", ("TRP101",), False),
        ("# Torchrepro: Ignore-File", "ignore-file", None, False),
        ("# torchrepro: ignore-file[TRP1] vendored", "ignore-file", ("TRP1",), False),
        ("# type: ignore # noqa: TRP101", "noqa", ("TRP101",), False),
    ],
)  # fmt: skip
def test_a_comment_is_read_in_every_form_that_flake8_and_ruff_take(
    comment: str, kind: str, codes: tuple[str, ...] | None, foreign: bool
) -> None:
    found = only(f"x = 1  {comment}\n")
    assert (found.kind, found.codes, found.foreign, found.line) == (kind, codes, foreign, 1)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # noqa: E501, F401\n",
        "x = '# noqa'\n",
        "x = '''\n# noqa: TRP101\n'''\n",
        'x = """\\"""\n# torchrepro: ignore\n"""\n',
        "x = f'{y}  # noqa'\n",
        "x = 'a\\\n# noqa'\n",
        "x = 1  # noqa-ish, noqaed\n",
        "# ruff: noqa\n# flake8: noqa: TRP101\n",
        "# torchrepro: ignored\n# torchrepro: ignore-files\n# torchrepro ignore\n",
        "noqa = 1\n",
    ],
)
def test_what_is_no_suppression_of_ours(text: str) -> None:
    assert make(text).suppressions == ()


def test_ranges_are_exact() -> None:
    text = "a\r\n\té = 1  # noqa: TRP101,E1 TRP2  # type: ignore\r\n"
    source, found = make(text), only(text)
    assert source.slice(found.range) == "# noqa: TRP101,E1 TRP2"
    assert [source.slice(place) for place in found.code_ranges] == ["TRP101", "TRP2"]
    assert found.line == 2


def test_a_comment_may_hold_several_and_a_reason_with_a_number() -> None:
    text = "x  # torchrepro: ignore[TRP101] see issue #12 # noqa: TRP2 # pragma: no cover\n"
    source = make(text)
    first, second = source.suppressions
    assert source.slice(first.range) == "# torchrepro: ignore[TRP101] see issue #12"
    assert source.slice(second.range) == "# noqa: TRP2"


def test_several_lines_in_order() -> None:
    text = "# torchrepro: ignore-file[TRP101]\nx = (1,  # noqa\n  '#', 2)  # noqa: TRP1\ny = '#'  # noqa: TRP2"
    assert [(item.line, item.kind) for item in make(text).suppressions] == [
        (1, "ignore-file"),
        (2, "noqa"),
        (3, "noqa"),
        (4, "noqa"),
    ]


def test_after_code_that_cannot_be_read_they_are_still_found() -> None:
    assert only("x = (\n'abc\ny = )  # noqa: TRP101\n").line == 3


def test_an_f_string_before_the_comment_on_its_line() -> None:
    assert only("x = f'{a}#'  # noqa: TRP101\n").codes == ("TRP101",)
    assert make("x = rF'''{a} # noqa: TRP101\n'''\n").suppressions == ()


FRAGMENTS = [
    "x = 1",
    "'",
    '"',
    "'''",
    '"""',
    "\\",
    "\n",
    "\r\n",
    "# noqa",
    "#",
    " # torchrepro: ignore ",
    "(",
    ")",
    "r",
    "b",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_agrees_with_the_tokenizer_on_whatever_it_can_read(text: str) -> None:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text, newline=None).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    if any(token.type == tokenize.ERRORTOKEN for token in tokens):
        return
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    wanted = {token.start[0] for token in comments if re.search("# (noqa|torchrepro: ignore)\\b", token.string)}
    assert {item.line for item in make(text).suppressions} == wanted


@pytest.mark.parametrize(
    "text",
    [
        "# noqa" + " " * 100_000 + "x",
        "# " * 50_000 + "noqa: TRP1",
        "# torchrepro: ignore[" + "a " * 50_000,
        "#" * 100_000 + "noqa",
    ],
)
def test_a_long_comment_takes_no_longer_than_it_should(text: str) -> None:
    assert len(make(text).suppressions) == 1
