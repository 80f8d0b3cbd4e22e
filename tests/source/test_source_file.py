"""Places in text: lines, columns, offsets, and what comes back from disk."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrepro_lint.model import Location, Position, Range
from torchrepro_lint.source import SourceError, SourceFile, read_source, source_from_bytes, source_from_text

WILD_TEXT = st.text(st.sampled_from(list("ab #\t\r\n\f\v\x1c\x85\u2028é𝔘")), max_size=60)


def make(text: str, name: str = "a.py") -> SourceFile:
    return source_from_text(text, Path("/project") / name, name)


@given(WILD_TEXT)
def test_every_offset_has_one_position_and_back(text: str) -> None:
    source = make(text)
    for offset in range(len(text) + 1):
        assert source.offset(source.position(offset)) == offset


@given(WILD_TEXT)
def test_lines_are_those_that_python_reads(text: str) -> None:
    lines = io.StringIO(text, newline=None).read().split("\n")
    source = make(text)
    assert [source.line(number) for number in range(1, len(source.line_starts) + 1)] == lines


@given(WILD_TEXT.filter(lambda text: "\0" not in text))
def test_what_is_read_is_written_back_byte_for_byte(text: str) -> None:
    data = text.encode()
    source = source_from_bytes(data, Path("/p/a.py"), "a.py")
    assert source.encode(source.text) == data


def test_columns_agree_with_the_tokenizer() -> None:
    text = "x = 'é𝔘'; y = 2\r\n\fif x:\r\n\ty = '\u2028'; z = 3\r\n"
    source = make(text)
    tokens = tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    names = [token for token in tokens if token.string in ("y", "z")]
    assert len(names) == 3
    for token in names:
        place = Position(token.start[0], token.start[1] + 1)
        assert source.text[source.offset(place)] == token.string


def test_slice_spans_lines_and_keeps_newlines() -> None:
    source = make("ab\r\ncd\ref\n")
    assert source.slice(Range(Position(1, 2), Position(3, 2))) == "b\r\ncd\re"
    assert source.position(len(source.text)) == Position(4, 1)


@pytest.mark.parametrize("place", [(0, 1), (1, 0), (1, 4), (3, 2), (4, 1)])
def test_a_place_outside_the_text_is_refused(place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="outside"):
        make("ab\ncd\n").offset(Position(*place))


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a\nb\r\n", "\r\n"), ("a\nb\nc\r\n", "\n"), ("a\rb\rc\n", "\r"), ("a\r\nb\r\n", "\r\n")],
)
def test_new_lines_end_as_most_lines_do(text: str, newline: str) -> None:
    assert make(text).newline == newline


@pytest.mark.parametrize(("name", "kind"), [("a.py", "python"), ("a.pyi", "stub"), ("tool", "python")])
def test_kind_follows_the_name(name: str, kind: str) -> None:
    assert make("", name).kind == kind


def test_location_in_a_plain_file_is_the_range_itself() -> None:
    place = Range(Position(2, 1), Position(2, 3))
    assert make("a\nbcd\n").location(place) == Location("a.py", place, None)


def test_reading_from_disk_keeps_newlines_and_drops_the_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n\x0cy = 2\r")
    source = read_source(path, "a.py")
    assert (source.text, source.bom, source.path) == ("x = 1\r\n\x0cy = 2\r", True, path)
    assert source.encode(source.text) == path.read_bytes()


def test_text_with_a_byte_order_mark_gets_it_back() -> None:
    source = make("\ufeffx = 1\n")
    assert source.text == "x = 1\n"
    assert source.encode("x = 2\n") == b"\xef\xbb\xbfx = 2\n"


def test_a_missing_file_and_a_folder_say_why(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        read_source(tmp_path / "none.py", "none.py")
    with pytest.raises(SourceError, match="cannot be read: Is a directory") as caught:
        read_source(tmp_path, "folder")
    assert caught.value.position is None


def test_an_empty_file_is_one_empty_line() -> None:
    source = make("")
    assert source.line_starts == [0]
    assert source.line(1) == ""
    assert source.suppressions == ()


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\n", "a\r\nb\rc\n\r", "a\r\n", "a\fb\x1dc\u2028d\ne"])
def test_all_lines_are_each_line(text: str) -> None:
    source = source_from_text(text, Path("a.py"), "a.py")
    assert source.lines() == [source.line(number) for number in range(1, len(source.line_starts) + 1)]
