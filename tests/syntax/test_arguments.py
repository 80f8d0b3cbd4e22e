"""An argument is added the way its author lays calls out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.fixing import apply_edits
from torchrepro_lint.formatter import NO_STYLE, Style
from torchrepro_lint.index import build
from torchrepro_lint.model import Fix, Safety
from torchrepro_lint.source import source_from_text
from torchrepro_lint.syntax import arguments, with_argument


def added(text: str, name: str = "generator", value: str = "g", style: Style = NO_STYLE) -> str:
    facts = build(source_from_text(text, Path("/p/m.py"), "m.py"))
    call = facts.calls["DataLoader"][0][0]
    edit = with_argument(facts, call, name, value, style)
    fixed = apply_edits({"m.py": facts.source}.get, [Fix(Safety.SAFE, "", (edit,))])
    return fixed.documents["m.py"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("DataLoader()", "DataLoader(generator=g)"),
        ("DataLoader(a)", "DataLoader(a, generator=g)"),
        ("DataLoader(a,)", "DataLoader(a, generator=g,)"),
        ("DataLoader(a,b=1)", "DataLoader(a,b=1, generator=g)"),
        ("DataLoader( a )", "DataLoader( a, generator=g )"),
        ("DataLoader(a, generator=None)", "DataLoader(a, generator=g)"),
        ("DataLoader(a, *b, **c)", "DataLoader(a, *b, generator=g, **c)"),
        ("DataLoader(a,**c)", "DataLoader(a, generator=g, **c)"),
        ("DataLoader(**c,)", "DataLoader(generator=g, **c,)"),
        ("DataLoader(\n    a,  # why\n    **c,\n)", "DataLoader(\n    a,  # why\n    generator=g,\n    **c,\n)"),
        ("x = [DataLoader(a) for a in b]", "x = [DataLoader(a, generator=g) for a in b]"),
        ("DataLoader(\n    a,\n    b=1,\n)", "DataLoader(\n    a,\n    b=1,\n    generator=g,\n)"),
        ("DataLoader(\n    a,\n    b=1\n)", "DataLoader(\n    a,\n    b=1,\n    generator=g\n)"),
        (
            "DataLoader(\n    a,\n    b=1  # one\n)",
            "DataLoader(\n    a,\n    b=1,  # one\n    generator=g\n)",
        ),
        ("DataLoader(\n    a,\n)", "DataLoader(\n    a,\n    generator=g,\n)"),
        ("DataLoader(a,\n           b=1)", "DataLoader(a,\n           b=1,\n           generator=g)"),
        (
            "DataLoader(\n    a,  # the data\n    b=1,  # one\n)",
            "DataLoader(\n    a,  # the data\n    b=1,  # one\n    generator=g,\n)",
        ),
        ("DataLoader(\r\n\ta,\r\n\tb=1,\r\n)", "DataLoader(\r\n\ta,\r\n\tb=1,\r\n\tgenerator=g,\r\n)"),
        ("x = DataLoader(\n  f(a,\n    b),\n  c=1)", "x = DataLoader(\n  f(a,\n    b),\n  c=1,\n  generator=g)"),
        ("f'{DataLoader(a)}'", "f'{DataLoader(a, generator=g)}'"),
        ("é = DataLoader(ä)", "é = DataLoader(ä, generator=g)"),
        ("torch . utils.DataLoader (a)", "torch . utils.DataLoader (a, generator=g)"),
        (
            "DataLoader(\n    a,\n    batch       = 1,\n    num_workers = 2,\n)",
            "DataLoader(\n    a,\n    batch       = 1,\n    num_workers = 2,\n    generator   = g,\n)",
        ),
        (
            "DataLoader(\n    a,\n    batch = 1,\n    n     = 2,  # two\n)",
            "DataLoader(\n    a,\n    batch = 1,\n    n     = 2,  # two\n    generator = g,\n)",
        ),
        ("DataLoader(a, bcd = 1, efg = 2)", "DataLoader(a, bcd = 1, efg = 2, generator = g)"),
    ],
)
def test_an_added_argument_keeps_the_layout(before: str, after: str) -> None:
    assert added(before) == after


WIDE = "x" * 90


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"DataLoader(a, {WIDE})", f"DataLoader(a, {WIDE},\n           generator=g)"),
        (f"\tDataLoader(a,\n\t\tb, {WIDE})", f"\tDataLoader(a,\n\t\tb, {WIDE},\n\t\tgenerator=g)"),
        (f"f(\n    DataLoader(\n        a, {WIDE}\n    )\n)",
         f"f(\n    DataLoader(\n        a,\n        {WIDE},\n        generator=g,\n    )\n)"),
        (f"DataLoader(\n    a, {WIDE}, *b, **c,\n)",
         f"DataLoader(\n    a,\n    {WIDE},\n    *b,\n    generator=g,\n    **c,\n)"),
        (f"DataLoader(\n    a, {WIDE}  # all\n)", f"DataLoader(\n    a, {WIDE},  # all\n    generator=g\n)"),
        (f"DataLoader(a, {WIDE}, **c)", f"DataLoader(a, {WIDE},\n           generator=g, **c)"),
        (f"'{WIDE * 2}'; DataLoader({WIDE[:30]})", f"'{WIDE * 2}'; DataLoader({WIDE[:30]}, generator=g)"),
        (f"f'{{DataLoader({WIDE})}}'", f"f'{{DataLoader({WIDE}, generator=g)}}'"),
    ],
)  # fmt: skip
def test_a_line_that_would_grow_too_long_is_broken(before: str, after: str) -> None:
    indented = before.startswith("\t")
    assert added(f"if x:\n{before}" if indented else before) == (f"if x:\n{after}" if indented else after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"x = DataLoader(a, {WIDE[:79]})", f"x = DataLoader(\n    a, {WIDE[:79]}, generator=g\n)"),
        (f"x = DataLoader(a, {WIDE[:79]},)", f"x = DataLoader(\n    a, {WIDE[:79]}, generator=g\n)"),
        (f"\tDataLoader(a, {WIDE[:83]})", f"\tDataLoader(\n\t\ta, {WIDE[:83]}, generator=g\n\t)"),
        (f"DataLoader(a, {WIDE}, **c)", f"DataLoader(\n    a,\n    {WIDE},\n    generator=g,\n    **c,\n)"),
        (f"x = DataLoader({WIDE[:84]}).fit(\n    y\n)", f"x = DataLoader(\n    {WIDE[:84]}, generator=g\n).fit(y)"),
        (
            f"x = DataLoader({WIDE[:84]}).a.fit(\n    y,\n)",
            f"x = DataLoader(\n    {WIDE[:84]}, generator=g\n).a.fit(\n    y,\n)",
        ),
        (
            f"x = DataLoader({WIDE[:70]}).fit({WIDE[:9]})",
            f"x = DataLoader({WIDE[:70]}, generator=g).fit(\n    {WIDE[:9]}\n)",
        ),
        (f"x = DataLoader({WIDE[:82]}).fit(y)", f"x = DataLoader(\n    {WIDE[:82]}, generator=g\n).fit(y)"),
        (f"x = DataLoader(a, {WIDE})[0]", f"x = DataLoader(a, {WIDE},\n               generator=g)[0]"),
        (f"x = DataLoader(a, b, {WIDE[:70]})", f"x = DataLoader(a, b, {WIDE[:70]}, generator=g)"),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_a_long_call_is_broken_as_black_does_where_it_formats_or_the_file_looks_like_it(
    before: str, after: str, told: bool
) -> None:
    head = "" if told else "f(\n    1\n)\n"
    head += "if x:\n" if before.startswith("\t") else ""
    style = Style(110, None, hangs=True) if told else Style(110)
    assert added(head + before, style=style) == head + after


HANGING = "a = f(\n    b, c\n)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"x = DataLoader({WIDE[:80]})", f"x = DataLoader(\n    {WIDE[:80]}, generator=g\n)"),
        (f"x = DataLoader({WIDE[:75]}, **k)  # why", f"x = DataLoader(\n    {WIDE[:75]}, generator=g, **k\n)  # why"),
        (
            f"if x:\n\treturn DataLoader(a, {WIDE})",
            f"if x:\n\treturn DataLoader(\n\t\ta,\n\t\t{WIDE},\n\t\tgenerator=g,\n\t)",
        ),
        (f"x = DataLoader({WIDE}) if b else c", f"x = DataLoader({WIDE},\n               generator=g) if b else c"),
    ],
)
def test_a_long_line_is_broken_as_the_calls_of_the_file_are(before: str, after: str) -> None:
    assert added(HANGING + before) == HANGING + after


def test_lines_may_be_as_long_as_those_of_the_file() -> None:
    code = "DataLoader(a, b, " + "x" * 50 + ")"
    for width, broken in ((79, True), (90, False)):
        text = f"# {'-' * (width - 2)}\n" + "\n" * 60 + code
        assert added(text).endswith(",\n           generator=g)") is broken


def test_texts_and_comments_do_not_widen_a_formatted_file() -> None:
    code, long = f"x = DataLoader({WIDE[:70]})", "-" * 95
    broken = f"x = DataLoader(\n    {WIDE[:70]}, generator=g\n)"
    for above in (f"# {long}\n", f'y = "{long}"\n'):
        assert added(HANGING + above + "\n" * 60 + code).endswith(broken)
    plain = f"{HANGING}y = [{'1, ' * 33}]\n" + "\n" * 60 + code
    assert added(plain).endswith(f"x = DataLoader({WIDE[:70]}, generator=g)")


ARGUMENTS = st.lists(st.sampled_from(["a", "*b", "c=1", "d=f(x, y)", "**e", "e=[1,\n 2]"]), max_size=4, unique=True)


@given(ARGUMENTS, st.sampled_from([", ", ",", ",\n    ", " , ", ",  # why\n  "]), st.booleans(), st.booleans())
def test_whatever_the_layout_only_one_argument_is_new(args: list[str], comma: str, trailing: bool, wide: bool) -> None:
    order = sorted(args, key=lambda a: (a.startswith("**"), "=" in a, a.startswith("*")))
    inside = comma.join(order) + ("," if trailing and order else "")
    text = f"x = DataLoader({chr(10) if wide else ''}{inside}{chr(10) if wide else ''})  # end\n"
    try:
        before = ast.parse(text)
    except SyntaxError:
        return
    call = ast.parse(added(text)).body[0].value  # type: ignore[attr-defined]
    original = before.body[0].value  # type: ignore[attr-defined]
    (new,) = [k for k in call.keywords if k.arg == "generator"]
    call.keywords.remove(new)
    assert ast.unparse(new) == "generator=g"
    assert ast.dump(call) == ast.dump(original)
    assert added(text).count("#") == text.count("#")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("DataLoader({})", "DataLoader({}, generator=g)"),
        ("DataLoader({}.x())", "DataLoader({}.x(), generator=g)"),
        ("DataLoader(({}),)", "DataLoader(({}), generator=g,)"),
        ("DataLoader({}, a=1, **k)", "DataLoader({}, a=1, generator=g, **k)"),
        ("DataLoader({}, a=(1), )", "DataLoader({}, a=(1), generator=g, )"),
        ("x{}.DataLoader()", "x{}.DataLoader(generator=g)"),
        ("DataLoader(*{}, b)", "DataLoader(*{}, b, generator=g)"),
    ],
)
def test_what_is_nested_too_deeply_for_libcst_is_extended_all_the_same(before: str, after: str) -> None:
    deep = ".a" * 900 if before.startswith("x") else "a" + "[0]" * 900
    before, after = (text.replace("Loader(", "Loader(  # a comment\n") for text in (before, after))
    assert added(before.format(deep)) == after.format(deep)


@pytest.mark.parametrize(
    "call",
    [
        *(
            "DataLoader(a)",
            "DataLoader( a )",
            "DataLoader((a) ,)",
            "DataLoader(a,\n           b)",
            "DataLoader(a , k = b)",
        ),
        *(
            "DataLoader(\n    a,\n    b,\n)",
            "DataLoader(\n    a,\n\n)",
            "DataLoader(a,**k)",
            "DataLoader(**k)",
            "f(a,*b)",
        ),
        *(
            "DataLoader(\n    a,\n    b=(c),  \n\n    **k,\n)",
            "(DataLoader)(a,)",
            "DataLoader(i for i in a)",
            "f(a,b,)",
        ),
        *("DataLoader(**k, a=1)", "DataLoader(a, lambda: (b), c=d if e else f)", 'DataLoader(a, "#", b)', "f(é, ü=1)"),
    ],
)
def test_most_calls_are_extended_without_libcst_as_with_it(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = call.replace("f(", "DataLoader(")
    plain = added(text)
    monkeypatch.setattr(arguments, "_plainly", lambda *_: None)
    assert plain == added(text)


def test_a_call_whose_bracket_stands_on_the_next_line() -> None:
    assert added("x = [DataLoader\n(a[0]) for a in b]") == "x = [DataLoader\n(a[0], generator=g) for a in b]"
    assert added("x = (torch\n.DataLoader(a,\n  b))") == "x = (torch\n.DataLoader(a,\n  b, generator=g))"
