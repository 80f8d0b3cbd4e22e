"""What else lies in the project's folders, beside its Python files: the few questions that rules ask of it.

Each is a function of texts, which gives plain data, so that an answer can be kept and compared with a later one. Knows
nothing of what the answers are for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchrepro_lint.reading import read_regular
from torchrepro_lint.requirements import declared

_SECTION = re.compile(r"^\[(?:project\.(?:gui-)?scripts|tool\.poetry\.scripts)\][^\n]*\n(.*?)(?=^\[|\Z)", re.M | re.S)
_LISTED = re.compile(r"console_scripts[\"']?\s*[:=](.*?)(?:\]|^\S|\Z)", re.M | re.S)
_TARGET = re.compile(r"=\s*[\"']?([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)")
_SCRIPTS = (
    ".sh",
    ".bash",
    ".slurm",
    ".sbatch",
    ".sub",
    ".env",
    ".toml",
    ".cfg",
    ".ini",
    ".yml",
    ".yaml",
    ".json",
    ".mk",
)
_SCRIPT_NAMES = ("Dockerfile", "Makefile", "Containerfile", "justfile", ".env", ".envrc", "Justfile")
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", "venv", "site-packages", "build", "dist"}
MAX_SCRIPTS = 400
MAX_SCRIPT_BYTES = 200_000


def exists(path: str) -> bool:
    """Whether there is anything of that name."""
    return Path(path).exists()


def modules_in(folder: str) -> tuple[str, ...]:
    """The Python files in a folder, sorted."""
    return tuple(sorted(map(str, Path(folder).glob("*.py"))))


def speaks_of(path: str, word: str) -> bool:
    """Whether a file can be read and has a word."""
    try:
        return word.encode() in read_regular(path)
    except OSError:
        return False


class Required(NamedTuple):
    """A package that a list asks for, as it is written there; `specifier` is None where it names no version."""

    path: str
    text: str
    specifier: str | None
    line: int


def required(folder: str, *names: str) -> tuple[Required, ...]:
    """What the lists of a folder ask for of these packages."""
    found = (item for item in declared(Path(folder)) if item.name in names)
    return tuple(Required(str(item.path), item.text, item.specifier, item.line()) for item in found)


def commands(root: str) -> tuple[tuple[str, str], ...]:
    """Module and function of what the packaging makes commands of; what is put together at build time is unknown."""
    return tuple(_targets(Path(root)))


def _targets(root: Path) -> Iterator[tuple[str, str]]:
    for name, part in (("pyproject.toml", _SECTION), ("setup.cfg", _LISTED), ("setup.py", _LISTED)):
        try:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for section in part.findall(text):
            yield from _TARGET.findall(section)


def in_scripts(root: str, variable: str) -> bool:
    """Whether a shell script, container file or the like below `root` names an environment variable."""
    needle, seen = variable.encode(), 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.endswith(".egg-info"))
        for name in sorted(files):
            if not (name.endswith(_SCRIPTS) or name.startswith(_SCRIPT_NAMES)):
                continue
            seen += 1
            if seen > MAX_SCRIPTS:
                return True  # too many to tell
            if _contains(Path(folder, name), needle):
                return True
    return False


def _contains(path: Path, needle: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return needle in file.read(MAX_SCRIPT_BYTES)
    except OSError:
        return False


QUESTIONS: Mapping[str, Callable[..., Any]] = {
    question.__name__: question for question in (exists, modules_in, speaks_of, required, commands, in_scripts)
}
