"""One file: from bytes to text, with its line starts, notebook cells and suppressions.

Knows encodings, newlines and comments; knows nothing of what the code means, nor of other files.
"""

from __future__ import annotations

from torchrepro_lint.elements import Suppression
from torchrepro_lint.source.errors import SourceError
from torchrepro_lint.source.file import (
    SourceFile,
    read_source,
    source_from_bytes,
    source_from_text,
)

__all__ = [
    "SourceError",
    "SourceFile",
    "Suppression",
    "read_source",
    "source_from_bytes",
    "source_from_text",
]
