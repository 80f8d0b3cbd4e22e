"""Source on the standard input: decoded as a file would be, and written back in the same encoding."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from torchrepro_lint.cli.streams import Failure
from torchrepro_lint.source import SourceError
from torchrepro_lint.source.decoding import decode, decode_utf8, encode

_UNNAMED = "stdin.py"


@dataclass(frozen=True, slots=True)
class Stdin:
    """The text, the path that it stands for, and how to encode what replaces it."""

    text: str
    path: Path
    encoding: str
    bom: bool

    def encoded(self, text: str | None) -> bytes:
        """`text`, or the text itself when nothing replaces it, as it would be in the file."""
        return encode(self.text if text is None else text, self.encoding, self.bom)


def read_stdin(filename: Path | None) -> Stdin:
    """Read all of the standard input."""
    path = Path.cwd() / (filename or _UNNAMED)
    data = sys.stdin.buffer.read()
    try:
        decoded = decode_utf8(data) if path.suffix == ".ipynb" else decode(data)
    except SourceError as error:
        where = f":{error.position.line}:{error.position.column}" if error.position else ""
        raise Failure(f"{filename or 'standard input'}{where}: {error.message}") from None
    return Stdin(decoded.text, path, decoded.encoding, decoded.bom)
