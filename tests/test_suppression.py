"""Which findings comments silence, which comments silenced nothing, and how those are taken out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.completion import unused_suppression
from torchrepro_lint.index import build
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.source import SourceFile, source_from_text
from torchrepro_lint.suppression import Suppressor, Unused, removal

KNOWN = {
    "TRP001": "syntax-error",
    "TRP002": "unused-suppression",
    "TRP101": "unseeded-program",
    "TRP102": "nonconstant-seed",
    "TRP201": "loader-without-generator",
}


def source_of(text: str) -> SourceFile:
    return source_from_text(text, Path("/project/train.py"), "train.py")


def suppressor_of(text: str, enabled: set[str] | None = None) -> Suppressor:
    source = source_of(text)
    return Suppressor(source, build(source), KNOWN, set(KNOWN) if enabled is None else enabled)


def judged(text: str, *findings: tuple[str, int], enabled: set[str] | None = None) -> list[Unused]:
    """What is unused after findings given as (code, line)."""
    suppressor = suppressor_of(text, enabled)
    for code, line in findings:
        suppressor.silences(code, line)
    return suppressor.unused()


def cleaned(text: str, *findings: tuple[str, int]) -> str:
    """`text` after taking out what is unused, one edit a round, for edits on one line may touch."""
    while left := judged(text, *findings):
        source = source_of(text)
        edit = Edit(source.rel, *removal(source, left[0]))
        start, end = source.offset(edit.range.start), source.offset(edit.range.end)
        text = text[:start] + edit.text + text[end:]
    return text


# -- what an edit touches ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("start", "end", "text", "touched"),
    [
        ((2, 1), (2, 1), "x = 1\n", []),
        ((2, 5), (2, 5), "x = 1\n", []),  # behind the indentation: the rest of the line stays whole
        ((2, 11), (2, 11), "\n    x = 1", []),
        ((2, 11), (2, 11), "  # x", [2]),
        ((2, 7), (2, 7), "\n", [2]),  # in the middle: the line is broken
        ((2, 7), (2, 7), "x = 1\n", [2]),
        ((2, 7), (2, 9), "", [2]),
        ((1, 1), (3, 1), "", [1, 2]),  # not a character of the third
        ((1, 1), (3, 2), "", [1, 2, 3]),
    ],
)
def test_an_edit_touches_the_lines_that_it_changes(
    start: tuple[int, int], end: tuple[int, int], text: str, touched: list[int]
) -> None:
    suppressor = suppressor_of("if a:\n    b = cd\ne = f\n")
    edit = Edit("train.py", Range(Position(*start), Position(*end)), text)
    assert list(suppressor.touched(edit)) == touched


# -- what is silenced -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa:TRP102",
        "# NOQA : trp102",
        "# noqa: TRP101,TRP102",
        "# noqa: TRP101 TRP102",
        "# noqa: E501, TRP102, W291",
        "# noqa: nonconstant-seed",
        "# noqa: TRP1",
        "# noqa: TRP",
        "# noqa: TRP102 - because it is wanted",
        "# type: ignore  # noqa: TRP102",
        "# torchrepro: ignore",
        "# torchrepro: ignore[TRP102]",
        "# torchrepro:ignore[trp101, TRP102] wanted",
        "# torchrepro: ignore[nonconstant-seed]",
        "# torchrepro: ignore[TRP1]",
    ],
)
def test_a_comment_silences_the_codes_it_selects_on_its_line(comment: str) -> None:
    suppressor = suppressor_of(f"a = 1\nseed()  {comment}\nb = 2\n")
    assert suppressor.silences("TRP102", 2)
    assert not suppressor.silences("TRP102", 1)
    assert not suppressor.silences("TRP102", 3)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: TRP101",
        "# noqa: TRP2",
        "# noqa: E501",
        "# noqa: TRP1023",
        "# torchrepro: ignore[TRP101]",
        "# torchrepro: ignore[]",
        "# nota noqa but TRP102",
        "# TRP102",
        "# ruff: noqa",
        "# flake8: noqa: TRP102",
    ],
)
def test_other_comments_silence_nothing(comment: str) -> None:
    assert not suppressor_of(f"seed()  {comment}\n").silences("TRP102", 1)


def test_text_is_not_a_comment() -> None:
    assert not suppressor_of('seed("# noqa: TRP102")\n').silences("TRP102", 1)


@pytest.mark.parametrize("line", [1, 2, 3, 4])
@pytest.mark.parametrize("carrier", [1, 2, 3, 4])
def test_any_line_of_a_statement_silences_all_of_it(line: int, carrier: int) -> None:
    lines = ["loader = DataLoader(", "    data,", "    seed=time(),", ")", "other()"]
    lines[carrier - 1] += "  # noqa: TRP201"
    suppressor = suppressor_of("\n".join(lines))
    assert suppressor.silences("TRP201", line)
    assert not suppressor.silences("TRP201", 5)


def test_a_comment_between_the_arguments_belongs_to_the_call() -> None:
    text = "loader = DataLoader(\n    # torchrepro: ignore[TRP201] shuffled on purpose\n    data,\n)\n"
    assert suppressor_of(text).silences("TRP201", 1)


def test_a_compound_statement_is_its_header() -> None:
    text = "for x in f(\n    a\n):  # noqa: TRP201\n    g()\n    h()  # noqa: TRP102\n"
    suppressor = suppressor_of(text)
    assert suppressor.silences("TRP201", 1)
    assert not suppressor.silences("TRP201", 4)
    assert not suppressor.silences("TRP102", 1)


def test_decorators_belong_to_the_header() -> None:
    text = "@wrap  # noqa: TRP101\n@again\ndef main():\n    draw()\n"
    suppressor = suppressor_of(text)
    assert suppressor.silences("TRP101", 3)
    assert not suppressor.silences("TRP101", 4)


def test_a_file_comment_reaches_every_line() -> None:
    suppressor = suppressor_of("seed()\n\n\nseed()\n# torchrepro: ignore-file[TRP102]\n")
    assert suppressor.silences("TRP102", 1)
    assert suppressor.silences("TRP102", 4)
    assert not suppressor.silences("TRP101", 1)


# -- what is unused ---------------------------------------------------------------------------------
def test_only_the_idle_selectors_are_unused() -> None:
    [unused] = judged("seed()  # noqa: TRP101, TRP102, E501\n", ("TRP102", 1))
    assert (unused.idle, unused.unknown, unused.whole) == (("TRP101",), (), False)


def test_a_finding_uses_every_selector_that_means_it() -> None:
    text = "seed()  # noqa: TRP1, TRP102  # torchrepro: ignore[nonconstant-seed]\n# torchrepro: ignore-file\n"
    assert judged(text, ("TRP102", 1)) == []


def test_two_suppressions_on_one_line_are_judged_apart() -> None:
    first, second = judged("seed()  # noqa: TRP101  # torchrepro: ignore[TRP102, TRP201]\n", ("TRP102", 1))
    assert (first.item.kind, first.idle, first.whole) == ("noqa", ("TRP101",), True)
    assert (second.item.kind, second.idle, second.whole) == ("ignore", ("TRP201",), False)


def test_rules_that_did_not_run_are_not_judged() -> None:
    text = "f()  # noqa: TRP101\nf()  # noqa: TRP1\nf()  # torchrepro: ignore\nf()  # noqa: TRP102\n"
    found = judged(text, enabled={"TRP002", "TRP102"})
    assert [unused.item.line for unused in found] == [4]


def test_a_plain_noqa_is_never_unused_but_a_plain_ignore_is() -> None:
    [unused] = judged("f()  # noqa\ng()  # torchrepro: ignore\n")
    assert (unused.item.line, unused.whole) == (2, True)


@pytest.mark.parametrize("comment", ["# noqa: E501", "# noqa: unused-import", "# noqa: E501, line-too-long"])
def test_other_tools_are_not_judged(comment: str) -> None:
    assert judged(f"f()  {comment}\n") == []


@pytest.mark.parametrize(
    ("comment", "unknown"),
    [
        ("# noqa: TRP999", ("TRP999",)),
        ("# noqa: TRP9", ("TRP9",)),
        ("# torchrepro: ignore[E501]", ("E501",)),
        ("# torchrepro: ignore[non-constant-seed]", ("non-constant-seed",)),
    ],
)
def test_a_rule_that_does_not_exist_is_unused(comment: str, unknown: tuple[str, ...]) -> None:
    [unused] = judged(f"f()  {comment}\n", enabled={"TRP002"})
    assert (unused.unknown, unused.whole) == (unknown, True)


def test_empty_brackets_are_unused() -> None:
    assert cleaned("f()  # torchrepro: ignore[]\n") == "f()\n"


def test_a_comment_between_statements_is_alone() -> None:
    text = "f()\n# noqa: TRP102\n# torchrepro: ignore[TRP102]\n\nf()\ng(\n    # noqa: TRP102\n)\n"
    noqa, ignore, inside = judged(text)
    assert (noqa.alone, ignore.alone, inside.alone) == (True, True, False)


@pytest.mark.parametrize(
    ("text", "line", "silenced"),
    [
        ("# torchrepro: ignore[TRP102]\nseed()\nseed()\n", 2, True),
        ("# torchrepro: ignore[TRP102]\nseed()\nseed()\n", 3, False),
        ("# torchrepro: ignore[TRP102] a reason\n# that takes\n#\n# more lines\nseed()\n", 5, True),
        ("# torchrepro: ignore[TRP101]\n# torchrepro: ignore[TRP102]\nseed()\n", 3, True),
        ("# torchrepro: ignore[TRP102]\nseed(\n    time(),\n)\n", 3, True),
        ("# torchrepro: ignore[TRP102]\n\nseed()\n", 3, False),
        ("# noqa: TRP102\nseed()\n", 2, False),
        ("f()  # torchrepro: ignore[TRP102]\nseed()\n", 2, False),
        ("def f():\n    # torchrepro: ignore[TRP102]\n    seed()\n", 3, True),
        ("if x:\n    # torchrepro: ignore[TRP102]\n    for y in z:\n        seed()\n", 3, True),
        ("if x:\n    # torchrepro: ignore[TRP102]\n    for y in z:\n        seed()\n", 4, False),
        ("# torchrepro: ignore[TRP102]\n@wrap\ndef main():\n    draw()\n", 3, True),
    ],
)
def test_a_comment_on_the_line_above_silences_the_statement_below(text: str, line: int, silenced: bool) -> None:
    assert suppressor_of(text).silences("TRP102", line) is silenced


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seed()\n# torchrepro: ignore[TRP102]\nf()\n", 1),
        ("# noqa: TRP102\nseed()\n", 2),
        ("# torchrepro: ignore[TRP102]\n\nseed()\n", 3),
        ("f(\n)  # noqa: TRP102\nseed()\n", 3),
    ],
)
def test_a_comment_near_a_finding_of_its_rule_is_misplaced(text: str, line: int) -> None:
    [unused] = judged(text, ("TRP102", line))
    assert (unused.meant_for, unused.found) == (line, "TRP102")
    finding = unused_suppression(source_of(text), unused)
    assert f"and TRP102 is reported on line {line}: the comment belongs on that line" in finding.message
    assert finding.fix is None


def test_a_comment_far_from_any_finding_of_its_rule_is_just_unused() -> None:
    text = "f()  # noqa: TRP102\n" + "\n" * 5 + "seed()\n"
    [unused] = judged(text, ("TRP102", 7), ("TRP101", 1))
    assert unused.meant_for is None


@pytest.mark.parametrize(
    ("place", "moved"),
    [((3, 5), (2, 5)), ((3, 1), (2, 1)), ((3, 3), None), ((2, 33), None), ((2, 5), (2, 5)), ((4, 5), (4, 5))],
)
def test_lines_are_not_put_between_a_comment_and_its_statement(
    place: tuple[int, int], moved: tuple[int, int] | None
) -> None:
    text = "if x:\n    # torchrepro: ignore[TRP102]\n    seed()\n    f()\n"
    below = place[1] > 30
    edit = Edit("train.py", Range(Position(*place), Position(*place)), "\n    g()" if below else "g()\n    ")
    found = suppressor_of(text).beside(edit)
    assert found == (None if moved is None else Edit("train.py", Range(Position(*moved), Position(*moved)), edit.text))


# -- findings about suppressions can be suppressed --------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        "f()  # noqa: TRP101, TRP002\n",
        "f()  # noqa: TRP101  # noqa\n",
        "f()  # noqa: TRP101\n# torchrepro: ignore-file[unused-suppression]\n",
    ],
)
def test_unused_suppressions_can_be_suppressed(text: str) -> None:
    assert judged(text) == []


def test_a_suppression_of_everything_does_not_excuse_itself() -> None:
    assert len(judged("f()  # torchrepro: ignore\n")) == 1
    assert len(judged("f()\n# torchrepro: ignore-file\n")) == 1


def test_suppressing_unused_suppressions_can_be_unused() -> None:
    [unused] = judged("seed()  # noqa: TRP102, TRP002\n", ("TRP102", 1))
    assert unused.idle == ("TRP002",)


# -- taking it out ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()  # noqa: TRP101\n", "f()\n"),
        ("f()  # noqa: TRP101 it was needed once\n", "f()\n"),
        ("f() \t # noqa: TRP101\r\ng()\r\n", "f()\r\ng()\r\n"),
        ("f()  # noqa: TRP101", "f()"),
        ("f()  # noqa: TRP101  # type: ignore\n", "f()  # type: ignore\n"),
        ("f()  # type: ignore  # noqa: TRP101\n", "f()  # type: ignore\n"),
        ("f()  # noqa: TRP101  # torchrepro: ignore[TRP201]\n", "f()\n"),
        ("f()  # noqa: TRP101, E501\n", "f()  # noqa: E501\n"),
        ("f()  # noqa: E501,TRP101\n", "f()  # noqa: E501\n"),
        ("f()  # noqa: E501 TRP101 W291\n", "f()  # noqa: E501 W291\n"),
        ("f()  # noqa: TRP101,TRP102,E501, TRP201 why\n", "f()  # noqa: TRP102,E501 why\n"),
        ("f()  # noqa: TRP102, TRP101 - why\n", "f()  # noqa: TRP102 - why\n"),
        ("f()  # torchrepro: ignore[TRP101, TRP102] why\n", "f()  # torchrepro: ignore[TRP102] why\n"),
        ("f()  # torchrepro: ignore[TRP102, E501] why\n", "f()  # torchrepro: ignore[TRP102] why\n"),
        ("f()\n# torchrepro: ignore-file[TRP201]\ng()\n", "f()\ng()\n"),
        ("f()\n# torchrepro: ignore-file[TRP201]", "f()\n"),
        ("if f():\n    # noqa: TRP101\n    g()\n", "if f():\n    g()\n"),
        ("é = 'ü'  # noqa: TRP101, E501\n", "é = 'ü'  # noqa: E501\n"),
    ],
)
def test_what_is_unused_is_taken_out_and_no_more(before: str, after: str) -> None:
    findings = [("TRP102", 1)]
    once = cleaned(before, *findings)
    assert once == after
    assert cleaned(once, *findings) == after


CODES = st.sampled_from(["TRP101", "TRP102", "TRP1", "TRP", "TRP999", "E501", "W291", "nonconstant-seed"])
SEPARATORS = st.sampled_from([", ", ",", " ", " , "])


@st.composite
def comments(draw: st.DrawFn) -> str:
    """A list of codes in either kind of comment, with or without words and another comment around it."""
    codes = draw(st.lists(CODES, min_size=1, max_size=5))
    joined = codes[0] + "".join(draw(SEPARATORS) + code for code in codes[1:])
    noqa = draw(st.booleans())
    comment = f"# noqa: {joined}" if noqa else f"# torchrepro: ignore[{joined}]"
    return draw(st.sampled_from(["", "# type: ignore  "])) + comment + draw(st.sampled_from(["", " why", "  # more"]))


@given(st.lists(comments(), min_size=1, max_size=3))
def test_removal_changes_comments_only_and_keeps_what_silences(found: list[str]) -> None:
    text = "".join(f"seed({i})  {comment}\n" for i, comment in enumerate(found))
    findings = [("TRP102", line) for line in range(1, len(found) + 1)]
    after = cleaned(text, *findings)
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(text))
    assert judged(after, *findings) == []
    for code, line in findings:
        assert suppressor_of(after).silences(code, line) is suppressor_of(text).silences(code, line)


# -- the finding ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f()  # noqa: TRP101, TRP2\n", "unused suppression: TRP101, TRP2 silenced nothing here"),
        ("f()  # noqa: TRP999\n", "unused suppression: no rule is called TRP999"),
        (
            "f()  # torchrepro: ignore[TRP101, seeed]\n",
            "unused suppression: no rule is called seeed; TRP101 silenced nothing here",
        ),
        ("f()  # torchrepro: ignore\n", "unused suppression: it silenced nothing here"),
        (
            "# noqa: TRP101\nf()\n",
            "unused suppression: on a line of its own it belongs to no statement",
        ),
    ],
)
def test_the_message_says_what_is_unused(text: str, message: str) -> None:
    [unused] = judged(text)
    finding = unused_suppression(source_of(text), unused)
    assert (finding.code, finding.message) == ("TRP002", message)
    assert finding.fix is not None
    assert finding.fix.safety == "safe"


def test_in_a_notebook_too_it_is_removed() -> None:
    notebook = (
        '{"cells": [{"cell_type": "code", "source": ["f()  # noqa: TRP101\\n"]}],'
        ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    source = source_from_text(notebook, Path("/project/a.ipynb"), "a.ipynb")
    [unused] = Suppressor(source, build(source), KNOWN, set(KNOWN)).unused()
    finding = unused_suppression(source, unused)
    assert finding.location.cell == 1
    assert finding.fix is not None
    [edit] = finding.fix.edits
    assert (edit.path, edit.text) == ("a.ipynb", "")
