"""Files that a user or a repository names: regular files only, none above a stated size, no link out of a project.

A pipe without a writer never ends, and a device may not either. Every refusal is an OSError whose `strerror` says why,
so that callers need no other case. Knows nothing of what is in a file.
"""

# A Path for each of thousands of files would be slow to make.
# ruff: noqa: PTH114, PTH116, PTH118, PTH123

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    from _blake2 import blake2b  # what `hashlib` has, which imports all of OpenSSL as well
except ImportError:
    from hashlib import blake2b

CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml")
YAML = ("yaml", "yaml_ft")  # packages; the second is what libcst brings for a Python without a global lock
PLOTS = 10  # times: a notebook, most of which is output, may be so much larger than another file
MAX_LIST = 1_000_000  # bytes of a configuration, a `.gitignore`, a list of requirements
_SIZE = 16  # bytes of a digest: nobody makes two files with one by chance
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def digest(data: bytes) -> str:
    """A name for these bytes, and no others."""
    return hasher(data).hexdigest()


def hasher(data: bytes = b"") -> blake2b:
    """What makes such a name of bytes that come one after the other."""
    return blake2b(data, digest_size=_SIZE)


class NotRegularError(OSError):
    """The path names a pipe, a socket or a device."""


class OutOfReachError(OSError):
    """The path is a link that leads out of the project."""


def read_regular(path: str | Path, limit: int = MAX_LIST) -> bytes:
    """The contents of a regular file of at most `limit` bytes; raises OSError for any other."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit or len(data := file.read((size or limit) + 1)) > limit:  # some file systems say 0 of everything
            raise OSError(errno.EFBIG, f"larger than {in_megabytes(limit)}", str(path))
        return data


def read_start(path: str | Path, limit: int) -> bytes:
    """The first `limit` bytes of a regular file; raises OSError for any other."""
    with _opened(path) as file:
        return file.read(limit)


class Reach:
    """Folders, or files, beyond which no link is followed."""

    def __init__(self, within: Sequence[Path]) -> None:
        self._within = [os.path.realpath(path).rstrip(os.sep) for path in within]
        self._real = dict(zip(map(str, within), self._within, strict=True))  # folders without links in them

    def includes(self, path: str | Path) -> bool:
        """Whether what the path leads to lies within."""
        folder, name = os.path.split(path)
        real = os.path.join(self._real.get(folder) or self._find_real(folder), name)
        return self.has(os.path.realpath(path) if os.path.islink(real) else real)

    def _find_real(self, folder: str) -> str:
        """A folder without links in it, by the one that holds it: where folders are nested a thousand deep, each is
        looked at once."""
        inner, here = list[tuple[str, str]](), folder
        while here not in self._real:
            above, name = os.path.split(here)
            if above == here or name in ("", os.curdir, os.pardir):  # it lies elsewhere
                self._real[folder] = os.path.realpath(folder)
                return self._real[folder]
            inner.append((here, name))
            here = above
        real = self._real[here]
        for here, name in reversed(inner):
            real = os.path.join(real, name)
            self._real[here] = real = os.path.realpath(real) if os.path.islink(real) else real
        return real

    def has(self, real: str) -> bool:
        """The same for a path without links in it."""
        return any(real == top or real.startswith(top + os.sep) for top in self._within)

    def read(self, path: str | Path, limit: int = MAX_LIST) -> bytes:
        """The contents of a regular file within; raises OSError for any other."""
        if not self.includes(path):
            raise OutOfReachError(errno.EPERM, "a link out of the project", str(path))
        return read_regular(path, limit)


def in_megabytes(size: int) -> str:
    """`10 MB`, `0.5 MB`."""
    return f"{size / 1e6:g} MB"


@contextmanager
def _opened(path: str | Path) -> Iterator[BinaryIO]:
    _refuse(path, os.stat(path))  # opening a device may do something by itself
    with open(os.open(path, _FLAGS), "rb") as file:
        _refuse(path, os.fstat(file.fileno()))  # it may be another file by now
        yield file


def _refuse(path: str | Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "not a regular file", str(path))
