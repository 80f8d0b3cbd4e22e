"""What a file has besides its contents, given to the file that takes its place: owner, group, mode, extended attributes
(of which access control lists are some). Where one cannot be kept, the file is not to be replaced.

Python can neither read nor write the extended attributes of macOS, nor the lists of Windows: there they are lost.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

_NO_ATTRIBUTES = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class NotKeptError(Exception):
    """Something of the old file that the new one cannot have, in words that follow the name of the file."""


def refusal(status: os.stat_result) -> str | None:
    """Why a file cannot be replaced by another one, by its status; None where it can."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_nlink > 1:
        return f"has {status.st_nlink} hard links, and a fix would part them"
    return None if status.st_mode & 0o222 else "is read-only"


def keep(old: Path, status: os.stat_result, new: Path) -> None:
    """Give `new` all that `old` has, whose status is given; raises NotKeptError."""
    if sys.platform != "win32":
        _owner(status, new)
    if sys.platform == "linux":
        _attributes(old, new)
    new.chmod(stat.S_IMODE(status.st_mode))  # last: a change of owner clears bits of it


if sys.platform != "win32":

    def _owner(status: os.stat_result, new: Path) -> None:
        mine = new.stat()
        if (mine.st_uid, mine.st_gid) == (status.st_uid, status.st_gid):
            return
        try:
            os.chown(new, status.st_uid, status.st_gid)
        except PermissionError:
            raise NotKeptError("belongs to another user or group, and a fixed file would not") from None


if sys.platform == "linux":

    def _attributes(old: Path, new: Path) -> None:
        wanted, given = _named(old), _named(new)
        for name, value in wanted.items():
            if given.get(name) != value:
                try:
                    os.setxattr(new, name, value)
                except OSError as error:
                    reason = error.strerror or error
                    raise NotKeptError(f"has the attribute {name}, which a fixed file cannot get: {reason}") from None
        for name in given.keys() - wanted.keys():  # such as the list that a folder gives to new files
            os.removexattr(new, name)

    def _named(path: Path) -> dict[str, bytes]:
        try:
            return {name: os.getxattr(path, name) for name in os.listxattr(path)}
        except OSError as error:
            if error.errno in _NO_ATTRIBUTES:
                return {}
            raise
