"""The file in which a cache keeps what it knows: read whole, written whole under another name and put in its place.

So a reader sees all of one write or all of another, whoever else writes, and wherever a writer is killed. A checksum
tells what is broken, and the name of the file what it was made from: what is not ours is not found. Text only: nothing
that is read here is run. Every failure is silent, since a run without a cache gives the same answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from torchrepro_lint.reading import digest, hasher, read_regular

FOLDER = ".torchrepro_cache"
MAX_SIZE = 400_000_000  # bytes; a project of ten thousand files takes a tenth of that
KEPT = 4  # files of other settings and versions; the oldest of more are removed
_SUFFIX = ".cache"
_IGNORE = "# Written by torchrepro-lint: nothing in here belongs into version control.\n*\n"
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of torchrepro-lint, and can be deleted at any time.\n"
    "# About cache directory tags see https://bford.info/cachedir/\n"
)


def read(folder: Path, name: str) -> list[str] | None:
    """The lines that were written under a name; None where there are none, or not all of them."""
    try:
        if folder.is_symlink():
            return None
        data = read_regular(folder / f"{name}{_SUFFIX}", MAX_SIZE)
        checksum, _, body = data.partition(b"\n")
        if checksum.decode("ascii", "replace") != digest(body):
            return None
        return body.decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None


def write(folder: Path, name: str, lines: Iterable[str]) -> bool:
    """Put these lines, of which none has a newline, in the place of those under a name; whether that was possible."""
    try:
        if not _prepared(folder):
            return False
        _replace(folder / f"{name}{_SUFFIX}", lines)
        _clean(folder, keep=name)
    except OSError:
        return False
    return True


def _prepared(folder: Path) -> bool:
    """Make the folder. One that is a link may lie anywhere, and is not ours to write into."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink():
        return False
    for name, text in ((".gitignore", _IGNORE), ("CACHEDIR.TAG", _TAG)):
        with suppress(FileExistsError), (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)
    return True


def _replace(path: Path, lines: Iterable[str]) -> None:
    new = path.with_name(f"{path.stem}-{os.getpid()}-{time.monotonic_ns()}.new")
    try:
        with new.open("xb") as file:
            _write_signed(file, lines)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _write_signed(file: BinaryIO, lines: Iterable[str]) -> None:
    """Write the checksum and the lines, one by one: all of them at once would be a second copy of what is held."""
    body = hasher()
    file.write(body.hexdigest().encode() + b"\n")
    begin = b""
    for line in lines:
        data = begin + line.encode("utf-8", errors="surrogatepass")
        body.update(data)
        file.write(data)
        begin = b"\n"
    file.seek(0)
    file.write(body.hexdigest().encode())


def _clean(folder: Path, keep: str) -> None:
    """Remove what was left by runs that were killed, and the oldest of too many files."""
    found = [path for path in folder.iterdir() if path.suffix in (_SUFFIX, ".new") and path.stem != keep]
    for path in sorted(found, key=_time, reverse=True)[KEPT:]:
        path.unlink(missing_ok=True)


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another run has removed it
        return 0.0
