"""Several files written as one: all of them, or none, and never half of one.

Each new text goes to a temporary file beside its target and then takes the target's place in one step.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from torchrepro_lint.fixing import attributes, journal
from torchrepro_lint.fixing.alone import alone
from torchrepro_lint.reading import read_regular


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


def refusal(path: Path, root: Path) -> str | None:
    """Why no fix is written to a file of the project at `root`, None where it can be tried."""
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root.resolve()):
            return f"is a link out of the project, to {target}"
        reason = attributes.refusal(target.stat())
        return reason or (None if os.access(target, os.W_OK) else "is read-only")
    except FileNotFoundError:
        return None  # it was read a moment ago: a conflict
    except OSError as error:
        return error.strerror or str(error)


def write_files(files: Mapping[Path, bytes], expected: Mapping[Path, bytes], root: Path) -> None:
    """Replace the contents of `files` of the project at `root`, each of which must still hold its `expected` bytes.

    One run at a time writes to a project. A symbolic link stays one: its target is written, within the project. Owner,
    mode and extended attributes are kept. Raises WriteError or ConflictError with every file as it was, and leaves no
    temporary file behind; what a kill leaves behind is for `recovered`.
    """
    with alone(root):
        _write(files, expected, root)


def recovered(root: Path) -> list[str]:
    """Finish or sweep up what a run that was killed has left of its fixes; tells what was done."""
    with alone(root):
        return list(journal.recover(root.resolve()))


def _write(files: Mapping[Path, bytes], expected: Mapping[Path, bytes], root: Path) -> None:
    for path in files:
        _refuse_changed(path, expected[path])
    swaps = [_Swap.of(path, root) for path in files]
    done: list[_Swap] = []
    log = journal.Journal(root.resolve())
    try:
        with _blaming(root):
            log.begin(swap.entry(files[swap.path], expected[swap.path]) for swap in swaps)
        for swap in swaps:
            swap.prepare(files[swap.path])
        with _blaming(root):
            log.commit()
        for swap in swaps:
            _refuse_changed(swap.path, expected[swap.path])
            done.append(swap)
            swap.make()
        for folder in {swap.target.parent for swap in swaps}:
            journal.sync(folder)
    except BaseException:
        for swap in done:
            _put_back(swap.path, files[swap.path], expected[swap.path], root)
        raise
    finally:
        for swap in swaps:
            swap.temporary.unlink(missing_ok=True)
        log.end()


@dataclass(frozen=True, slots=True)
class _Swap:
    """`path` as it was named, the real file behind it, and the new contents in a file beside that."""

    path: Path
    target: Path
    temporary: Path

    @classmethod
    def of(cls, path: Path, root: Path) -> _Swap:
        reason = refusal(path, root)
        if reason is not None:
            raise WriteError(path, reason)
        target = path.resolve()
        return cls(path, target, target.with_name(journal.new_name()))

    def entry(self, data: bytes, expected: bytes) -> journal.Entry:
        return journal.Entry(self.target, self.temporary, journal.digest(expected), journal.digest(data))

    def prepare(self, data: bytes) -> None:
        """Write `data` beside the file, with all else that the file has."""
        with _blaming(self.path):
            status = self.target.stat()
            with open(self.temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            attributes.keep(self.target, status, self.temporary)

    def make(self) -> None:
        with _blaming(self.path):
            self.temporary.replace(self.target)


def _refuse_changed(path: Path, expected: bytes) -> None:
    with _blaming(path):
        try:
            unchanged = read_regular(path, len(expected) + 1) == expected
        except FileNotFoundError:
            unchanged = False
        except OSError as error:
            unchanged = False
            if error.errno != errno.EFBIG:
                raise
    if not unchanged:
        raise ConflictError(path)


def _put_back(path: Path, written: bytes, data: bytes, root: Path) -> None:
    """Restore old contents after a failure elsewhere, which is the one to report if this fails as well."""
    with suppress(WriteError):
        _refuse_changed(path, written)
        swap = _Swap.of(path, root)
        try:
            swap.prepare(data)
            swap.make()
        finally:
            swap.temporary.unlink(missing_ok=True)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turn the system's error into one that names the file."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error.strerror or str(error)) from error
    except attributes.NotKeptError as error:
        raise WriteError(path, str(error)) from None
