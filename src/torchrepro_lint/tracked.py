"""Which files a repository of git tracks, read from its index: no program is run for it.

Git leaves a file out for a pattern in a `.gitignore` only as long as it does not track it, so a linter should too: a
package `data` below the pattern `data/` is part of the program. The format is git's own, `gitformat-index(5)`.
"""

# ruff: noqa: PTH113, PTH116, PTH118

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import lru_cache

from torchrepro_lint.reading import read_regular

_MAX_INDEX = 100_000_000  # bytes; about a million files
_MAX_NAME = 4096
_HASHES = (20, 32)  # bytes: of SHA-1 and SHA-256
_STATUS = struct.Struct(">24xL12x")  # what a file's status was, of which its mode is read
_REGULAR = 0o100000
_EXTENDED = 0x4000  # in the flags: two more bytes of them follow
_LENGTH = 0xFFF  # in the flags: how long the name is, at most


def tracks(top: str, path: str) -> bool:
    """Whether the repository at `top` tracks the file at `path` below it, or a file in that folder. Not where the index
    is missing, broken, or split into several files."""
    try:
        data = _index(_index_file(top))
    except (OSError, ValueError):
        return False
    return os.fsencode(path[len(top) :].strip(os.sep).replace(os.sep, "/")) in _tracked(data)


def _index_file(top: str) -> str:
    """The index of the repository at `top`, of which `.git` is the folder or a file that names it."""
    git = os.path.join(top, ".git")
    if os.path.isfile(git):
        kind, _, folder = os.fsdecode(read_regular(git)).partition(":")
        if kind != "gitdir":
            raise ValueError(git)
        git = os.path.join(top, folder.strip())
    return os.path.join(git, "index")


def _index(path: str) -> bytes:
    status = os.stat(path)
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _read(path: str, _changed: int, _size: int) -> bytes:
    return read_regular(path, _MAX_INDEX)


@lru_cache(maxsize=4)
def _tracked(data: bytes) -> frozenset[bytes]:
    """The files of an index, and the folders that they are in; none where it is broken."""
    for hash_size in _HASHES:
        try:
            files = list(_files(data, hash_size))
        except (ValueError, IndexError, struct.error):
            continue
        found = set(files)
        for name in files:
            while (name := name.rpartition(b"/")[0]) and name not in found:
                found.add(name)
        return frozenset(found)
    return frozenset()


def _files(data: bytes, hash_size: int) -> Iterator[bytes]:
    """The regular files of an index whose hashes are so long; raises ValueError where it is none."""
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(signature)
    at, name = 12, b""
    for _ in range(count):
        start = at
        (mode,) = _STATUS.unpack_from(data, at)
        at += _STATUS.size + hash_size
        (flags,) = struct.unpack_from(">H", data, at)
        at += 4 if flags & _EXTENDED else 2
        kept = 0
        if version == 4:
            cut, at = _number(data, at)
            kept = max(len(name) - cut, 0)
        end = data.index(b"\0", at)
        name = name[:kept] + data[at:end]
        if not 0 < len(name) <= _MAX_NAME or min(len(name), _LENGTH) != flags & _LENGTH:
            raise ValueError(name)
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        if mode & _REGULAR:
            yield name


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, as in packs for an offset, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1 << 7) | data[at] & 0x7F
        if value > _MAX_NAME:
            raise ValueError(value)
    return value, at + 1
