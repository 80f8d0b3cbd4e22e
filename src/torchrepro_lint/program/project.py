"""The project's text, searched for words: which files can hold the caller of a function, or a `set_epoch`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path

MAX_BYTES = 24_000_000  # beyond this a search by text costs more than its answer is worth: unknown


class ProjectText:
    """All Python files of the project as bytes, read on the first question. `files` lists them."""

    def __init__(self, files: Callable[[], Collection[Path]]) -> None:
        self._files = files
        self._changed: dict[Path, bytes] = {}
        self._mentions: dict[str, list[Path]] = {}
        self._matches: dict[re.Pattern[bytes], bool] = {}
        self.imports: dict[Path, frozenset[str]] = {}  # the files that a file imports, as far as `importers` was asked

    @cached_property
    def _contents(self) -> dict[Path, bytes] | None:
        contents: dict[Path, bytes] = {}
        total = 0
        for path in self._files():
            try:
                contents[path] = self.read(path)
            except OSError:
                continue
            total += len(contents[path])
            if total > MAX_BYTES:
                return None
        return contents

    def change(self, path: Path, text: str | None) -> None:
        """Let `text` stand in for the file from now on; None for what is on disk."""
        self._mentions.clear()
        self._matches.clear()
        self.imports.clear()
        if text is None:
            self._changed.pop(path, None)
        else:
            self._changed[path] = text.encode(errors="surrogatepass")
        read = self.__dict__.get("_contents") or {}  # nothing is read for this alone
        if path in read:
            read[path] = self.read(path)

    def read(self, path: Path) -> bytes:
        """One file as it is now."""
        return self._changed[path] if path in self._changed else path.read_bytes()

    def of(self, path: Path) -> str:
        """The text of one file."""
        return (self._contents or {}).get(path, b"").decode(errors="replace")

    def any_match(self, pattern: re.Pattern[bytes]) -> bool | None:
        """Whether any file's text matches; None when the project is too large."""
        if self._contents is None:
            return None
        if pattern not in self._matches:
            self._matches[pattern] = any(pattern.search(content) for content in self._contents.values())
        return self._matches[pattern]

    def mentioning(self, word: str) -> list[Path] | None:
        """The files whose text contains `word`, in order of path; None when the project is too large."""
        if self._contents is None:
            return None
        if word not in self._mentions:
            needle = word.encode(errors="surrogateescape")
            self._mentions[word] = [p for p, content in self._contents.items() if needle in content]
        return self._mentions[word]
