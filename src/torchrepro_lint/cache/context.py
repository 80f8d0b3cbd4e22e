"""A name for all that findings rest on besides the project's files: this program, its rules, the Python that runs it,
and the settings. What was found under another name is not looked at."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from torchrepro_lint.cache import storage
from torchrepro_lint.cards import rules_dir

# A Path for each of hundreds of files would be slow to make.
# ruff: noqa: PTH123

_PROGRAM = "program"  # the name under which it is kept what the program's own files hold
_KINDS = (".py", ".md", ".toml", ".json", ".txt")


def name_of(folder: Path, parts: Sequence[object]) -> str:
    """The name for a program with these settings; `folder` is that of the cache."""
    python = (sys.implementation.name, sys.hexversion, sys.platform)
    return _name(repr((_program(folder), python, *map(str, parts))).encode(errors="surrogatepass"))


def _program(folder: Path) -> str:
    """A name for what this program's files hold, which are only read where they look changed."""
    files = sorted(_files())
    seen = _name(repr([(path, status.st_size, status.st_mtime_ns) for path, status in files]).encode())
    kept = storage.read(folder, _PROGRAM)
    if kept is not None and len(kept) == 2 and kept[0] == seen:
        return kept[1]
    tops = [str(_package()), str(rules_dir())]
    held = blake2b(digest_size=16)
    for path, _ in files:
        top = next(top for top in tops if path.startswith(top))
        with open(path, "rb") as file:
            held.update(json.dumps([path[len(top) :], _name(file.read())]).encode())
    storage.write(folder, _PROGRAM, [seen, held.hexdigest()])
    return held.hexdigest()


def _package() -> Path:
    return Path(__file__).parents[1]


def _files() -> Iterator[tuple[str, os.stat_result]]:
    pending = [str(_package()), str(rules_dir())]
    while pending:
        with os.scandir(pending.pop()) as found:
            for entry in found:
                if entry.is_dir():
                    if entry.name != "__pycache__" and not entry.name.startswith("_rules"):
                        pending.append(entry.path)
                elif entry.name.endswith(_KINDS):
                    yield entry.path, entry.stat()


def _name(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
