"""Bytes to text and back: byte order mark, PEP 263 declaration, and clear errors when that fails.

Knows nothing of Python's syntax beyond where an encoding declaration may stand.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from torchrepro_lint.elements import Position
from torchrepro_lint.source.errors import SourceError

_COOKIE = rb"[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)"
_BLANK_OR_COMMENT = rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PROBE = "# coding: x = 'a'\n"
# Codecs of packages that have these names: they read UTF-8, and rewrite f-strings or annotations for an old Python.
_WITH_NEWER_SYNTAX = frozenset({"future-fstrings", "future-annotations"})


class Decoded(NamedTuple):
    """The text of a file without its byte order mark, and what is needed to write it back."""

    text: str
    encoding: str
    bom: bool


def decode(data: bytes) -> Decoded:
    """Decode as Python would decode a source file, but keep the newlines as they are."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    encoding = _declared_encoding(body, bom) or "utf-8"
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(body, encoding, error) from None
    refuse_null(text)
    return Decoded(text, encoding, bom)


def decode_utf8(data: bytes) -> Decoded:
    """Decode a file that is UTF-8 whatever it says, as JSON is."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    try:
        return Decoded(body.decode("utf-8"), "utf-8", bom)
    except UnicodeDecodeError as error:
        raise _undecodable(body, "utf-8", error) from None


def encode(text: str, encoding: str, bom: bool) -> bytes:
    """The bytes of `text`; raises SourceError for a character that the encoding does not have."""
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError as error:
        what = f"{text[error.start]!r} cannot be written in the file's encoding {encoding}"
        raise SourceError(what, position_after(text[: error.start])) from None
    return codecs.BOM_UTF8 + data if bom else data


def refuse_null(text: str) -> None:
    """Raise SourceError at the first null character: Python reads no such file."""
    place = text.find("\0")
    if place >= 0:
        raise SourceError("the file contains a null byte", position_after(text[:place]))


def position_after(text: str) -> Position:
    """The place of the next character if `text` were the beginning of a file."""
    lines = re.split(r"\r\n|\r|\n", text)
    return Position(len(lines), len(lines[-1]) + 1)


def _declared_encoding(body: bytes, bom: bool) -> str | None:
    """The codec that the first or second line names, checked; None when neither names one."""
    if b"coding" not in body:
        return None
    line, cookie = 1, re.compile(_COOKIE)
    match = cookie.match(body)
    if match is None:
        first = re.match(_BLANK_OR_COMMENT, body)
        match = cookie.match(body, first.end()) if first else None
        line = 2
    if match is None:
        return None
    name = match.group(1).decode("ascii")
    column = match.start(1) - _line_start(body, match.start(1)) + 1
    return _checked_codec(name, bom, Position(line, column))


def _checked_codec(name: str, bom: bool, place: Position) -> str:
    normal = name.lower().replace("_", "-")
    if normal == "utf-8" or normal.startswith("utf-8-") or normal in _WITH_NEWER_SYNTAX:
        return "utf-8"
    if bom:
        raise SourceError(f"declared encoding {name} contradicts the UTF-8 byte order mark", place)
    try:
        ascii_survives = _PROBE.encode(name) == _PROBE.encode("ascii")
    except (LookupError, UnicodeError):
        raise SourceError(f"unknown encoding: {name}", place) from None
    if not (ascii_survives and _can_replace(name)):
        raise SourceError(f"{name} is not an encoding for source text", place)
    return name


def _can_replace(name: str) -> bool:
    """Whether the codec goes on after a byte that it cannot read, as that of domain names cannot."""
    try:
        b"\xff".decode(name, errors="replace")
    except UnicodeError:
        return False
    return True


def _undecodable(body: bytes, encoding: str, error: UnicodeDecodeError) -> SourceError:
    before = body[: error.start]
    line = len(re.findall(rb"\r\n|\r|\n", before)) + 1
    prefix = before[_line_start(body, error.start) :]
    place = Position(line, len(prefix.decode(encoding, errors="replace")) + 1)
    if body.startswith(_UTF16_MARKS):
        return SourceError("looks like UTF-16: source must be UTF-8 or declare its encoding", place)
    byte = body[error.start]
    return SourceError(f"invalid {encoding}: byte 0x{byte:02x} at offset {error.start}", place)


def _line_start(body: bytes, offset: int) -> int:
    return max(body.rfind(b"\n", 0, offset), body.rfind(b"\r", 0, offset)) + 1
