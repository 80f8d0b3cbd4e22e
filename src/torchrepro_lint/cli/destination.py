"""Where `verify --evidence` and `env --save` write: a file, what is no regular file, or `-` for the standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
