"""Several files written as one: all of them, or none, and never half of one.

Each new text goes to a temporary file beside its target and then takes the target's place in one step.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


class WriteError(Exception):
    """A file could not be written, and nothing was changed. `path` is the file, `reason` says why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ConflictError(WriteError):
    """A file has changed since it was read; nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "changed on disk since it was read")


def write_files(files: Mapping[Path, bytes], expected: Mapping[Path, bytes], root: Path) -> None:
    """Replace the contents of `files` of the project at `root`, each of which must still hold its `expected` bytes.

    One run at a time writes to a project, where the system has locks. A symbolic link stays one: its target is
    written. Mode and, where allowed, owner are kept. Raises WriteError or ConflictError with every file as it was,
    and leaves no temporary file behind.
    """
    with _alone(root):
        _write(files, expected)


def _write(files: Mapping[Path, bytes], expected: Mapping[Path, bytes]) -> None:
    swaps: list[_Swap] = []
    done: list[_Swap] = []
    try:
        for path, data in files.items():
            _refuse_changed(path, expected[path])
            swaps.append(_Swap.of(path))
            swaps[-1].prepare(data)
        for swap in swaps:
            _refuse_changed(swap.path, expected[swap.path])
            done.append(swap)
            swap.make()
    except BaseException:
        for swap in done:
            _put_back(swap.path, files[swap.path], expected[swap.path])
        raise
    finally:
        for swap in swaps:
            swap.temporary.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Swap:
    """`path` as it was named, the real file behind it, and the new contents in a file beside that."""

    path: Path
    target: Path
    temporary: Path

    @classmethod
    def of(cls, path: Path) -> _Swap:
        with _blaming(path):
            target = path.resolve(strict=True)
        return cls(path, target, target.with_name(f".torchrepro-{os.urandom(6).hex()}"))

    def prepare(self, data: bytes) -> None:
        """Write `data` beside the file, with the file's mode."""
        with _blaming(self.path):
            status = self.target.stat()
            if not status.st_mode & 0o222 or not os.access(self.target, os.W_OK):
                raise WriteError(self.path, "is read-only")
            with open(self.temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _copy_owner_and_mode(status, self.temporary)

    def make(self) -> None:
        with _blaming(self.path):
            self.temporary.replace(self.target)


def _refuse_changed(path: Path, expected: bytes) -> None:
    with _blaming(path):
        try:
            unchanged = path.read_bytes() == expected
        except FileNotFoundError:
            unchanged = False
    if not unchanged:
        raise ConflictError(path)


def _copy_owner_and_mode(status: os.stat_result, to: Path) -> None:
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(to, status.st_uid, status.st_gid)
    to.chmod(stat.S_IMODE(status.st_mode))


def _put_back(path: Path, written: bytes, data: bytes) -> None:
    """Restore old contents after a failure elsewhere, which is the one to report if this fails as well."""
    with suppress(WriteError):
        _refuse_changed(path, written)
        swap = _Swap.of(path)
        try:
            swap.prepare(data)
            swap.make()
        finally:
            swap.temporary.unlink(missing_ok=True)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Wait until no other run writes to the project, and keep others from it; not on systems without such locks."""
    handle = -1
    try:
        import fcntl

        handle = os.open(root, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ImportError, OSError):
        pass
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turn the system's error into one that names the file."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error.strerror or str(error)) from error
