"""Files that a user or a repository names, read whole: regular files only, and none above a stated size.

A pipe without a writer never ends, and a device may not either. Every refusal is an OSError whose `strerror` says why,
so that callers need no other case. Knows nothing of what is in a file.
"""

# A Path for each of thousands of files would be slow to make.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_LIST = 1_000_000  # bytes of a configuration, a `.gitignore`, a list of requirements
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class NotRegularError(OSError):
    """The path names a pipe, a socket or a device."""


def read_regular(path: str | Path, limit: int = MAX_LIST) -> bytes:
    """The contents of a regular file of at most `limit` bytes; raises OSError for any other."""
    _refuse(path, os.stat(path), limit)  # opening a device may do something by itself
    with open(os.open(path, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        _refuse(path, status, limit)  # it may be another file by now
        data = file.read((status.st_size or limit) + 1)  # some file systems say 0 of everything
        if len(data) > limit:
            raise _too_large(path, limit)
        return data


def in_megabytes(size: int) -> str:
    """`10 MB`, `0.5 MB`."""
    return f"{size / 1e6:g} MB"


def _refuse(path: str | Path, status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "not a regular file", str(path))
    if status.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: str | Path, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {in_megabytes(limit)}", str(path))
