"""What a run is about to replace, written down first, so that the next run can sweep up or finish after a kill.

A journal lies in the root of the project. As `.torchrepro-begun` it lists new files that are being written, and no old
one has changed. Renamed to `.torchrepro-commit` it says that all of them are complete, and replacing goes on.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from torchrepro_lint.reading import read_regular

BEGUN, COMMIT = ".torchrepro-begun", ".torchrepro-commit"
_TEMPORARY = re.compile(r"\.torchrepro-[0-9a-f]{12}")
_MAX_FILE = 1_000_000_000
_MAY_NOT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST)  # the last where a system has no locks


def new_name() -> str:
    """A name for a file that is to take the place of another one in the same folder."""
    return f".torchrepro-{os.urandom(6).hex()}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file to replace: `target` and the `temporary` beside it, and the digests of their contents."""

    target: Path
    temporary: Path
    old: str
    new: str


def digest(data: bytes) -> str:
    """Of the contents of a file."""
    return sha256(data).hexdigest()


class Journal:
    """The journal of one run. Where the root may not be written to there is none, and a kill may leave files."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written = False

    def begin(self, entries: Iterable[Entry]) -> None:
        """New files are going to be written for these."""
        rows = [
            {
                "target": entry.target.relative_to(self._root).as_posix(),
                "temporary": entry.temporary.name,
                "old": entry.old,
                "new": entry.new,
            }
            for entry in entries
        ]
        self._written = True
        try:
            _write_down(self._root / BEGUN, json.dumps(rows).encode())
        except OSError as error:
            self._written = False
            if error.errno not in _MAY_NOT:
                raise

    def commit(self) -> None:
        """All new files are complete."""
        if self._written:
            (self._root / BEGUN).replace(self._root / COMMIT)
            sync(self._root)

    def end(self) -> None:
        """All is done, or undone."""
        if self._written:
            for name in (BEGUN, COMMIT):
                (self._root / name).unlink(missing_ok=True)


def recover(root: Path) -> Iterator[str]:
    """Sweep up after a run that was killed, or finish what it began; tells what was done. Only with the project locked.

    Files are replaced if some are already, and each still holds what it held then. Where all are as they were, the fix
    was never begun or has been taken back; where one has changed since, nobody can say what is wanted.
    """
    for name in (BEGUN, COMMIT):
        if not os.path.lexists(root / name):
            continue
        entries = list(_read(root, root / name))
        if name == COMMIT:
            yield from _finished(root, entries)
        for entry in entries:
            entry.temporary.unlink(missing_ok=True)
        with suppress(OSError):  # a folder, a file of another user
            (root / name).unlink()


def sync(folder: Path) -> None:
    """Let the names in a folder reach the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _finished(root: Path, entries: list[Entry]) -> Iterator[str]:
    held = [_digest_of(entry.target) for entry in entries]
    replaced = [now == entry.new for now, entry in zip(held, entries, strict=True)]
    waiting = [entry for entry, is_new in zip(entries, replaced, strict=True) if not is_new]
    if all(replaced) or not any(replaced):
        return
    names = ", ".join(entry.target.relative_to(root).as_posix() for entry in waiting)
    complete = all(_digest_of(e.target) == e.old and _digest_of(e.temporary) == e.new for e in waiting)
    if not complete:
        yield f"a fix was interrupted and cannot be finished, since files have changed since: {names}"
        return
    for entry in waiting:
        entry.temporary.replace(entry.target)
        sync(entry.target.parent)
    yield f"finished a fix that was interrupted: {names}"


def _read(root: Path, path: Path) -> Iterator[Entry]:
    """What a journal lists. One that is cut off was killed before it listed anything; what does not look like our own
    entry, such as a file outside of the project, is passed over."""
    try:
        rows = json.loads(read_regular(path, 100_000_000))
    except (OSError, ValueError, RecursionError):
        return
    for row in rows if isinstance(rows, list) else ():
        match row:
            case {"target": str(target), "temporary": str(name), "old": str(old), "new": str(new)}:
                place = root / target
                if _TEMPORARY.fullmatch(name) and "\0" not in target and _is_within(place, root):
                    yield Entry(place, place.with_name(name), old, new)


def _is_within(path: Path, root: Path) -> bool:
    return path.name != "" and path.parent.resolve().is_relative_to(root.resolve()) and not path.is_symlink()


def _digest_of(path: Path) -> str | None:
    try:
        return digest(read_regular(path, _MAX_FILE))
    except OSError:
        return None


def _write_down(path: Path, data: bytes) -> None:
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise
    except OSError:
        path.unlink(missing_ok=True)
        raise
    sync(path.parent)
