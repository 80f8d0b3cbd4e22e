"""Edits put into text, and diffs that git applies."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.fixing import Applied, unified_diff
from torchrepro_lint.fixing import apply_edits as apply_to_files
from torchrepro_lint.model import Edit, Fix, Position, Range, Safety
from torchrepro_lint.source import SourceFile, source_from_text


def make(text: str) -> SourceFile:
    return source_from_text(text, Path("/p/a.py"), "a.py")


def apply_edits(source: SourceFile, fixes: Sequence[Fix]) -> Applied:
    return apply_to_files({source.rel: source}.get, fixes)


def text_of(source: SourceFile, result: Applied) -> str:
    return result.documents.get(source.rel, source.text)


def fix(source: SourceFile, *edits: tuple[int, int, str]) -> Fix:
    """A fix from (start offset, end offset, text)."""
    return Fix(
        Safety.SAFE,
        "Mend it",
        tuple(
            Edit(source.rel, Range(source.position(start), source.position(end)), text) for start, end, text in edits
        ),
    )


def test_edits_replace_exact_slices() -> None:
    source = make("a = 1\r\n\tb = 'é𝔘'  # x\r\n\x0cc = 2")
    both = fix(source, (24, 25, "d"), (12, 16, "2"))
    result = apply_edits(source, [both])
    assert text_of(source, result) == "a = 1\r\n\tb = 2  # x\r\n\x0cd = 2"
    assert (result.applied, result.skipped) == ((both,), ())


def test_the_first_of_overlapping_fixes_wins_whole() -> None:
    source = make("abcdef")
    first = fix(source, (1, 3, "X"))
    second = fix(source, (5, 6, "Y"), (2, 4, "Z"))
    third = fix(source, (3, 4, "W"))
    result = apply_edits(source, [first, second, third])
    assert text_of(source, result) == "aXWef"
    assert (result.applied, result.skipped) == ((first, third), (second,))


def test_a_fix_over_several_accepted_ones_clashes_with_any_of_them() -> None:
    source = make("abcdef")
    fixes = [fix(source, (0, 0, "line\n")), fix(source, (2, 4, "X")), fix(source, (0, 5, "Y"))]
    result = apply_edits(source, fixes)
    assert (text_of(source, result), result.skipped) == ("line\nabXef", (fixes[2],))


def test_a_fix_clashes_with_the_accepted_one_that_reaches_into_it() -> None:
    source = make("abcdef")
    fixes = [fix(source, (0, 1, "A")), fix(source, (2, 4, "X")), fix(source, (3, 5, "Y"))]
    result = apply_edits(source, fixes)
    assert (text_of(source, result), result.skipped) == ("AbXef", (fixes[2],))


@pytest.mark.parametrize(("inside", "kept"), [(1, True), (2, False), (3, True)])
def test_an_insertion_at_the_edge_of_a_replacement_is_kept(inside: int, kept: bool) -> None:
    source = make("abcd")
    replacement, insertion = fix(source, (1, 3, "R")), fix(source, (inside, inside, "i"))
    for fixes in ([replacement, insertion], [insertion, replacement]):
        result = apply_edits(source, fixes)
        assert len(result.applied) == 1 + kept
    assert not kept or text_of(source, result) == {1: "aiRd", 3: "aRid"}[inside]


def test_lines_inserted_at_one_place_stay_in_order() -> None:
    source = make("f(x)")
    fixes = [fix(source, (0, 0, "a\n")), fix(source, (0, 0, "b\n"))]
    assert text_of(source, apply_edits(source, fixes)) == "a\nb\nf(x)"


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (("import torch\n", "import random\n"), "import random\nimport torch\nf(x)"),
        (("import torch\n", "import random\n\n", "import numpy as np\n"),
         "import random\n\nimport numpy as np\nimport torch\nf(x)"),
        (("import torch\n\n", "import random\n\n", "import numpy as np\n\n"),
         "import random\n\nimport numpy as np\nimport torch\n\nf(x)"),
        (("x = 1\n", "import torch\n"), "import torch\nx = 1\nf(x)"),
    ],
)  # fmt: skip
def test_imports_at_one_place_are_in_order(texts: tuple[str, ...], result: str) -> None:
    source = make("f(x)")
    assert text_of(source, apply_edits(source, [fix(source, (0, 0, text)) for text in texts])) == result


def test_imports_below_one_line_are_in_one_block() -> None:
    source = make("import os\nf(x)")
    fixes = [fix(source, (9, 9, f"\n\nimport {name}")) for name in ("torch", "numpy")]
    assert text_of(source, apply_edits(source, fixes)) == "import os\n\nimport numpy\nimport torch\nf(x)"


def test_of_two_arguments_at_one_place_the_second_waits() -> None:
    source = make("f(x)")
    fixes = [fix(source, (3, 3, ", a=1")), fix(source, (3, 3, ", b=2"))]
    result = apply_edits(source, fixes)
    assert (text_of(source, result), result.skipped) == ("f(x, a=1)", (fixes[1],))


def test_the_same_import_wanted_twice_is_inserted_once() -> None:
    source = make("import os\nf(x)\ng(y)\n")
    fixes = [
        fix(source, (10, 10, "import torch\n"), (13, 13, ", 1")),
        fix(source, (10, 10, "import torch\n"), (18, 18, ", 2")),
    ]
    result = apply_edits(source, fixes)
    assert text_of(source, result) == "import os\nimport torch\nf(x, 1)\ng(y, 2)\n"
    assert len(result.applied) == 2


def test_the_same_replacement_wanted_twice_is_made_once() -> None:
    source = make("x = True")
    result = apply_edits(source, [fix(source, (4, 8, "False")), fix(source, (4, 8, "False"))])
    assert (text_of(source, result), len(result.applied)) == ("x = False", 2)


def test_half_a_pair_of_brackets_is_never_shared() -> None:
    source = make("ls(a)[0]")
    inner, outer = fix(source, (0, 0, "sorted("), (5, 5, ")")), fix(source, (0, 0, "sorted("), (8, 8, ")"))
    other = fix(source, (0, 0, "list("), (8, 8, ")"))
    result = apply_edits(source, [inner, outer, other])
    assert (text_of(source, result), result.skipped) == ("sorted(ls(a))[0]", (outer, other))


def test_the_same_pair_wanted_twice_is_put_once() -> None:
    source = make("ls(a)")
    pair = fix(source, (0, 0, "sorted("), (5, 5, ")"))
    result = apply_edits(source, [pair, pair])
    assert (text_of(source, result), len(result.applied)) == ("sorted(ls(a))", 2)


def test_a_pair_around_nothing_else_keeps_its_order() -> None:
    source = make("f()")
    assert text_of(source, apply_edits(source, [fix(source, (2, 2, "g("), (2, 2, ")"))])) == "f(g())"


def test_a_fix_that_overlaps_itself_is_skipped() -> None:
    source = make("abcd")
    twisted = fix(source, (0, 3, "x"), (1, 1, "y"))
    assert apply_edits(source, [twisted]).skipped == (twisted,)


def test_a_fix_for_another_file_or_no_place_is_skipped() -> None:
    source = make("ab\n")
    here = Range(Position(1, 1), Position(1, 2))
    elsewhere = Fix(Safety.SAFE, "t", (Edit("a.py", here, "x"), Edit("b.py", here, "x")))
    nowhere = Fix(Safety.SAFE, "t", (Edit("a.py", Range(Position(1, 1), Position(9, 9)), "x"),))
    backwards = Fix(Safety.SAFE, "t", (Edit("a.py", Range(here.end, here.start), "x"),))
    result = apply_edits(source, [elsewhere, nowhere, backwards])
    assert (text_of(source, result), len(result.skipped)) == ("ab\n", 3)


def test_a_fix_of_two_files_goes_into_both_or_neither() -> None:
    one, two = make("ab\n"), source_from_text("cd\n", Path("/p/b.py"), "b.py")
    here, there = fix(one, (0, 1, "X")).edits[0], fix(two, (1, 2, "Y")).edits[0]
    both, late = Fix(Safety.SAFE, "t", (here, there)), fix(two, (2, 2, "Z"))
    clash = Fix(Safety.SAFE, "t", (fix(one, (1, 2, "W")).edits[0], fix(two, (0, 2, "V")).edits[0]))
    result = apply_to_files({"a.py": one, "b.py": two}.get, [both, clash, late])
    assert result.documents == {"a.py": "Xb\n", "b.py": "cYZ\n"}
    assert result.skipped == (clash,)
    assert apply_to_files({"a.py": one}.get, [both]).documents == {}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_in_a_fix_become_those_of_the_file(newline: str) -> None:
    source = make(f"a{newline}b{newline}")
    result = apply_edits(source, [fix(source, (0, 0, "x\ny\r\n"))])
    assert text_of(source, result) == newline.join(["x", "y", "a", "b", ""])


@st.composite
def text_and_edits(draw: st.DrawFn) -> tuple[str, list[list[tuple[int, int, str]]]]:
    text = draw(st.text(st.sampled_from("ab\r\né𝔘\f"), max_size=20))
    spots = st.integers(0, len(text))
    edit = st.tuples(spots, spots, st.sampled_from(["", "X", "YY", "(", "Z\n"])).map(
        lambda item: (min(item[:2]), max(item[:2]), item[2])
    )
    return text, draw(st.lists(st.lists(edit, min_size=1, max_size=3), max_size=5))


@given(text_and_edits())
def test_every_fix_is_accounted_for_and_untouched_text_survives(
    case: tuple[str, list[list[tuple[int, int, str]]]],
) -> None:
    text, groups = case
    source = make(text)
    fixes = [fix(source, *group) for group in groups]
    result = apply_edits(source, fixes)
    assert sorted(map(id, (*result.applied, *result.skipped))) == sorted(map(id, fixes))
    edits = [edit for one in result.applied for edit in one.edits]
    gone = {at for e in edits for at in range(source.offset(e.range.start), source.offset(e.range.end))}
    kept = "".join(character for at, character in enumerate(text) if at not in gone)
    remaining = iter(text_of(source, result))
    assert all(character in remaining for character in kept)  # in this order
    assert len(text_of(source, result)) <= len(kept) + sum(len(e.text.replace("\n", source.newline)) for e in edits)
    assert text_of(source, apply_edits(source, result.applied)) == text_of(source, result)


@given(text_and_edits())
def test_a_single_fix_is_what_splicing_from_the_end_gives(
    case: tuple[str, list[list[tuple[int, int, str]]]],
) -> None:
    text, groups = case
    source = make(text)
    for group in groups:
        result = apply_edits(source, [fix(source, *group)])
        if result.applied:
            expected = text
            for start, end, new in sorted(group, key=lambda edit: edit[:2])[::-1]:
                expected = expected[:start] + new.replace("\n", source.newline) + expected[end:]
            assert text_of(source, result) == expected


def git(folder: Path, *arguments: str, data: bytes = b"") -> None:
    done = subprocess.run(["git", *arguments], cwd=folder, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def applies(folder: Path, rel: str, before: str, after: str) -> bool:
    """Whether git takes the diff, leaving newlines alone, and makes `after` of `before`."""
    path = folder / rel
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(before.encode())
    git(
        folder,
        "-c",
        "core.autocrlf=false",
        "apply",
        "--check",
        "-",
        data=unified_diff(rel, before, after).encode(),
    )
    git(folder, "-c", "core.autocrlf=false", "apply", "-", data=unified_diff(rel, before, after).encode())
    return path.read_bytes() == after.encode()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diffs")
    git(folder, "init", "-q")
    return folder


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("a\rb\rc", "a\rB\rc"),
        ("a\x0cb\n\x0c\nc\u2028d\x85\n", "a\x0cb\n\x0c\nC\u2028d\x85\n"),
        ("é\n" * 30, "é\n" * 3 + "𝔘\n" + "é\n" * 27),
        ("x\n", ""),
        ("\n".join(map(str, range(400))), "\n".join(map(str, range(7, 390))) + "\n"),
    ],
)
def test_git_applies_the_diff(repository: Path, before: str, after: str) -> None:
    assert applies(repository, "a.py", before, after)


@pytest.mark.parametrize("rel", ["dir/b.py", "with blank.py", 'qu"ote.py', "back\\slash.py", "tab\there.py", "é.py"])
def test_git_applies_it_to_oddly_named_files(repository: Path, rel: str) -> None:
    assert applies(repository, rel, "a\n", "b\n")


def test_no_change_is_no_diff() -> None:
    assert unified_diff("a.py", "x\n", "x\n") == ""


def test_the_diff_reads_as_usual() -> None:
    assert unified_diff("d/a.py", "x\ny", "x\nz\n").splitlines() == [
        "--- a/d/a.py",
        "+++ b/d/a.py",
        "@@ -1,2 +1,2 @@",
        " x",
        "-y",
        "\\ No newline at end of file",
        "+z",
    ]
