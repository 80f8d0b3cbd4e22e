"""Configuration files as tables: which file has ours, and clear errors for one that is broken.

Knows TOML and the names of files; not what any key means.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchrepro_lint.reading import read_regular

# os.path answers False where Path raises: for folders that may not be entered, names that are too long.
# ruff: noqa: PTH110, PTH112

TABLE = "torchrepro-lint"
FILE = "torchrepro-lint.toml"
_PLACE = r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$"


class SettingsError(Exception):
    """A configuration that cannot be used; the text names its origin and the nearest valid value."""


def own_file(folder: Path) -> Path | None:
    """The file in `folder` itself that configures us, if there is one."""
    for path in (folder / FILE, folder / "pyproject.toml"):
        if is_there(path) and own_table(path) is not None:
            return path
    return None


def is_there(path: Path) -> bool:
    """Whether there is a file of that name, of whatever kind: what cannot be read is to be told."""
    return os.path.exists(path) and not os.path.isdir(path)


def own_table(path: Path) -> Mapping[str, Any] | None:
    """Our table in a file; a `pyproject.toml` without our name is not even parsed."""
    if path.name != "pyproject.toml":
        own = load(path)
        if "tool" in own:
            raise SettingsError(f"{shown(path)}: leave out [tool.{TABLE}], which is for pyproject.toml")
        return own
    if b"torchrepro" not in _read(path):
        return None
    tools = load(path).get("tool")
    if not isinstance(tools, dict):
        return None
    for name in tools:
        if name != TABLE and re.sub(r"[-_.]", "", name) in ("torchreprolint", "torchrepro"):
            raise SettingsError(f"{shown(path)}: [tool.{name}] is not read; did you mean [tool.{TABLE}]?")
    table = tools.get(TABLE)
    if table is None or isinstance(table, dict):
        return table
    raise SettingsError(f"{shown(path)}: tool.{TABLE} must be a table")


def origin_in(path: Path, key: str) -> str:
    """`pyproject.toml [tool.torchrepro-lint] select`, `torchrepro-lint.toml select`."""
    table = f" [tool.{TABLE}]" if path.name == "pyproject.toml" else ""
    return f"{shown(path)}{table} {key}"


def shown(path: Path) -> str:
    """The path as a person in the current folder would write it: from there, when it is near."""
    from_here = os.path.relpath(path)
    return from_here if from_here.count("..") <= 2 else str(path)


def load(path: Path) -> dict[str, Any]:
    """A TOML file; SettingsError with line and column when it is broken."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    data = _read(path)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{shown(path)}:{line}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_broken(path, str(error), data.count(b"\n") + 1)) from None
    except RecursionError:
        raise SettingsError(f"{shown(path)}: broken TOML: nested too deeply") from None
    except ValueError as error:  # Python refuses to read numbers of thousands of digits
        raise SettingsError(f"{shown(path)}: broken TOML: {error}") from None


def _broken(path: Path, message: str, last_line: int) -> str:
    place = re.search(_PLACE, message)
    if place is None:
        return f"{shown(path)}: broken TOML: {message}"
    where = f"{place['line']}:{place['column']}" if place["line"] else f"{last_line}"
    return f"{shown(path)}:{where}: broken TOML: {message[: place.start()]}"


def _read(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise SettingsError(f"{shown(path)}: cannot be read: {error.strerror or error}") from None
