"""A name for all that findings rest on besides the project's files: this program, its rules, the Python that runs it,
and the settings. What was found under another name is not looked at."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchrepro_lint.cache import storage
from torchrepro_lint.cards import rules_dir
from torchrepro_lint.reading import digest

# A Path for each of hundreds of files would be slow to make.
# ruff: noqa: PTH123

_PROGRAM = "program"  # the name under which it is kept what the program's own files hold
_KINDS = (".py", ".md", ".toml", ".json", ".txt")
_ABOVE = ("cli", "lsp", "report", "rerun", "verify")  # a third of all files, which the engine may not import


def name_of(folder: Path, parts: Sequence[object]) -> str:
    """The name for a program with these settings; `folder` is that of the cache."""
    python = (sys.implementation.name, sys.hexversion, sys.platform)
    return digest(repr((_program(folder), python, *map(str, parts))).encode(errors="surrogatepass"))


def _program(folder: Path) -> str:
    """A name for what this program's files hold, which are only read where they look changed."""
    files = sorted(_files())
    seen = digest(repr([(path, status.st_size, status.st_mtime_ns) for path, status in files]).encode())
    kept = storage.read(folder, _PROGRAM)
    if kept is not None and len(kept) == 2 and kept[0] == seen:
        return kept[1]
    tops = [str(_package()), str(rules_dir())]
    held = []
    for path, _ in files:
        top = next(top for top in tops if path.startswith(top))
        with open(path, "rb") as file:
            held.append((path[len(top) :], digest(file.read())))
    name = digest(repr(held).encode(errors="surrogatepass"))
    storage.write(folder, _PROGRAM, [seen, name])
    return name


def _package() -> Path:
    return Path(__file__).parents[1]


def _files() -> Iterator[tuple[str, os.stat_result]]:
    package = str(_package())
    pending = [package, str(rules_dir())]
    while pending:
        folder = pending.pop()
        left_out = ("__pycache__", "_rules", *_ABOVE) if folder == package else ("__pycache__",)
        with os.scandir(folder) as found:
            for entry in found:
                if entry.is_dir():
                    if entry.name not in left_out:
                        pending.append(entry.path)
                elif entry.name.endswith(_KINDS):
                    yield entry.path, entry.stat()
