"""Encodings as Python reads them, and where each that cannot be read goes wrong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchrepro_lint.model import Position
from torchrepro_lint.source import SourceError, SourceFile, source_from_bytes


def decode(data: bytes) -> SourceFile:
    return source_from_bytes(data, Path("/p/a.py"), "a.py")


def refusal(data: bytes) -> SourceError:
    with pytest.raises(SourceError) as caught:
        decode(data)
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
        b"\n# coding: iso-8859-15\r\nx = '\xa4'\r\n",
        "# coding: shift_jis\nx = 'テスト'\n".encode("shift_jis"),
        "# coding: utf-8-sig\nx = 'é'\n".encode(),
        b"\xef\xbb\xbf# coding: UTF-8\nx = 1\n",
        b" \t\x0c# coding: latin-1\nx = '\xe9'\n",
    ],
)
def test_declared_encodings_are_read_as_python_reads_them(data: bytes) -> None:
    source = decode(data)
    assert ast.dump(ast.parse(source.text)) == ast.dump(ast.parse(data))
    assert source.encode(source.text) == data


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\n# coding: latin-1\ny = '\xe9'\n",  # after code
        b"\n\n# coding: latin-1\ny = '\xe9'\n",  # third line
        b"x = 1  # coding: latin-1\ny = '\xe9'\n",  # behind code
    ],
)
def test_a_declaration_elsewhere_does_not_count(data: bytes) -> None:
    assert "invalid utf-8: byte 0xe9" in refusal(data).message


def test_invalid_utf8_names_the_byte_and_its_place() -> None:
    error = refusal("x = 1\r\ny = 'é".encode() + b"\xff'\n")
    assert error.message == "invalid utf-8: byte 0xff at offset 14"
    assert error.position == Position(2, 7)


def test_an_unknown_encoding_is_shown_where_it_is_declared() -> None:
    error = refusal(b"#!/bin/python\n# coding: utf-9\n")
    assert error.message == "unknown encoding: utf-9"
    assert error.position == Position(2, 11)


def test_a_codec_that_only_rewrites_newer_syntax_reads_utf8() -> None:
    found = source_from_bytes("# -*- coding: future_fstrings -*-\nx = 'é'\n".encode(), Path("a.py"), "a.py")
    assert (found.encoding, found.line(2)) == ("utf-8", "x = 'é'")


@pytest.mark.parametrize("codec", [b"rot13", b"base64", b"hex"])
def test_a_codec_that_is_no_text_encoding_is_unknown(codec: bytes) -> None:
    assert "unknown encoding" in refusal(b"# coding: " + codec + b"\nx = 1\n").message


@pytest.mark.parametrize("codec", [b"utf-16", b"utf-32", b"cp037"])
def test_an_encoding_that_cannot_hold_its_own_declaration_is_refused(codec: bytes) -> None:
    assert "not an encoding for source text" in refusal(b"# coding: " + codec + b"\n12").message


def test_a_declaration_against_the_byte_order_mark_is_refused() -> None:
    error = refusal(b"\xef\xbb\xbf# coding: latin-1\n")
    assert "contradicts the UTF-8 byte order mark" in error.message
    assert error.position == Position(1, 11)


def test_utf16_is_recognised() -> None:
    assert "looks like UTF-16" in refusal("x = 1\n".encode("utf-16")).message


def test_a_null_byte_is_shown_where_it_is() -> None:
    error = refusal(b"x = 1\r\ny = \x00\n")
    assert error.message == "the file contains a null byte"
    assert error.position == Position(2, 5)


def test_a_character_that_the_encoding_lacks_is_refused_on_the_way_back() -> None:
    source = decode(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError, match=r"'€' cannot be written in the file's encoding latin-1"):
        source.encode("x = '€'\n")
