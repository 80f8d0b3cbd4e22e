"""What else lies in the project's folders, beside its Python files: the few questions that rules ask of it.

Each is a function of how far links are followed and of texts, which gives plain data, so that an answer can be kept and
compared with a later one. Knows nothing of what the answers are for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrepro_lint.reading import YAML, OutOfReachError, Reach, digest, read_regular, read_start
from torchrepro_lint.records import NamedTuple
from torchrepro_lint.requirements import declared

if TYPE_CHECKING:
    from torchrepro_lint.formatter import Style

_SECTION = r"(?ms)^\[(?:project\.(?:gui-)?scripts|tool\.poetry\.scripts)\][^\n]*\n(.*?)(?=^\[|\Z)"
_LISTED = r"(?ms)console_scripts[\"']?\s*[:=](.*?)(?:\]|^\S|\Z)"
_TARGET = r"=\s*[\"']?([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)"
_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch", ".sub", ".env", ".toml", ".cfg", ".ini", ".yml", ".yaml", ".json",
            ".mk")  # fmt: skip
_SCRIPT_NAMES = ("Dockerfile", "Makefile", "Containerfile", "justfile", ".env", ".envrc", "Justfile")
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", "venv", "site-packages", "build", "dist"}
MAX_SCRIPTS = 400
MAX_SCRIPT_BYTES = 200_000


def exists(_: Reach, path: str) -> bool:
    """Whether there is anything of that name."""
    return os.path.exists(path)  # noqa: PTH110 - also of what is too long for a path


def is_file(_: Reach, path: str) -> bool:
    """Whether there is a file of that name."""
    return os.path.isfile(path)  # noqa: PTH113 - likewise


def yaml_reader(_: Reach) -> str:
    """Which YAML there is, by what its package holds: releases read a few texts in different ways. It is not imported,
    which would take a quarter of a run in which nothing has changed."""
    from importlib.util import find_spec

    for name in YAML:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            front = Path(spec.origin)
            fast = sorted(path.name for path in front.parent.glob("_yaml*"))
            return f"{name} {digest(read_regular(front))} {' '.join(fast)}"
    return ""


def style(reach: Reach, root: str) -> Style:
    """How the project's formatter lays code out."""
    from torchrepro_lint.formatter import project_style  # only fixes ask

    return project_style(Path(root), reach.read)


def modules_in(_: Reach, folder: str) -> tuple[str, ...]:
    """The Python files in a folder, sorted."""
    return tuple(sorted(map(str, Path(folder).glob("*.py"))))


def modules_like(_: Reach, folder: str, pattern: str) -> tuple[str, ...]:
    """The names, seen from a folder, of the modules below it that a pattern with `*` fits, sorted."""
    path = pattern.replace(".", "/")
    found = [file.with_suffix("") for file in Path(folder).glob(f"{path}.py")]
    found += [file.parent for file in Path(folder).glob(f"{path}/__init__.py")]
    return tuple(sorted({".".join(module.relative_to(folder).parts) for module in found} - {"__init__"}))


def speaks_of(_: Reach, path: str, word: str) -> bool:
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


def required(_: Reach, folder: str, *names: str) -> tuple[Required, ...]:
    """What the lists of a folder ask for of these packages."""
    found = (item for item in declared(Path(folder)) if item.name in names)
    return tuple(Required(str(item.path), item.text, item.specifier, item.line()) for item in found)


class Commands(NamedTuple):
    """Module and function of each command, and the files that cannot be read, with the reasons."""

    targets: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]


def commands(reach: Reach, root: str) -> Commands:
    """What the packaging makes commands of; what is put together at build time is unknown."""
    targets: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    for name, part in (("pyproject.toml", _SECTION), ("setup.cfg", _LISTED), ("setup.py", _LISTED)):
        path = Path(root, name)
        try:
            text = reach.read(path).decode("utf-8", errors="replace")
        except (FileNotFoundError, IsADirectoryError, OutOfReachError):
            continue
        except OSError as error:
            refused.append((str(path), error.strerror or str(error)))
            continue
        targets += [target for section in re.findall(part, text) for target in re.findall(_TARGET, section)]
    return Commands(tuple(targets), tuple(refused))


def in_scripts(_: Reach, root: str, variable: str) -> bool:
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
        return needle in read_start(path, MAX_SCRIPT_BYTES)
    except OSError:
        return False


_QUESTIONS = (exists, is_file, yaml_reader, style, modules_in, modules_like, speaks_of, required, commands, in_scripts)
QUESTIONS: Mapping[str, Callable[..., Any]] = {question.__name__: question for question in _QUESTIONS}
