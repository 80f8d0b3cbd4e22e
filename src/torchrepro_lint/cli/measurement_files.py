"""Files of measurements that options name: read, and written, for `-` to the standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrepro_lint.evidence import Measured

STDOUT = Path("-")


def refuse(path: Path, option: str) -> None:
    """Fail now where nothing could be written later, after minutes of measuring."""
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.verify.evidence import refuse_unwritable

    if path == STDOUT:
        return
    try:
        refuse_unwritable(path)
    except OSError as error:
        raise Failure(f"{option}: cannot write {path}: {error.strerror}") from None


def make_folder(path: Path, option: str) -> None:
    """A folder for several files."""
    from torchrepro_lint.cli.streams import Failure

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{option}: cannot make {path}: {error.strerror}") from None


def save(path: Path, content: Mapping[str, Any], option: str) -> None:
    """Write JSON there."""
    from torchrepro_lint.cli.streams import Failure, as_utf8, write
    from torchrepro_lint.verify import evidence

    if path == STDOUT:
        as_utf8()
        write([evidence.text(content)])
        return
    try:
        evidence.write(path, content)
    except OSError as error:
        raise Failure(f"{option}: cannot write {path}: {error.strerror}") from None


def measured(path: Path, option: str) -> tuple[Measured, ...]:
    """What is measured in a file of evidence."""
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.evidence import EvidenceError, read

    try:
        return read(path)
    except EvidenceError as error:
        raise Failure(f"{option}: {error}") from None
