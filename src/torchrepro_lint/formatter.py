"""How a project's formatter lays code out: the length of a line, the quotes of a string, and how calls are broken.

Reads the settings of ruff, black and flake8 in one folder, and which of the formatters pre-commit runs there. Formats
nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torchrepro_lint.reading import read_regular

_USUAL = 88  # of ruff and black, where they are set up and say nothing
# A hook of pre-commit that formats, and what is said of it until the next one.
_HOOK = re.compile(
    r"""^[ -]*id:[ '"]*(?P<id>black|ruff-format)(?:-jupyter)?['"]*[ \t]*(?:\#.*)?$"""
    r"""(?P<rest>(?:\n(?![ -]*(?:id|repo):).*)*)""",
    re.MULTILINE,
)
_LENGTH = re.compile(r"(?:--line-length|-l)[\s=,'\"-]+(\d{2,3})\b")
_INI = {".flake8": "flake8", "setup.cfg": "flake8", "tox.ini": "flake8"}


class Style(NamedTuple):
    """`width` is the most characters of a line, None where no formatter says; so is `quote`. With `hangs`, a call that
    is too long for its line has nothing behind its bracket."""

    width: int | None = None
    quote: Literal["'", '"'] | None = None
    hangs: bool = False


NO_STYLE = Style()


def project_style(root: Path, read: Callable[[Path], bytes] = read_regular) -> Style:
    """What the formatter of the project in `root` is told; ruff before black before pre-commit before flake8."""
    tools = _toml(root / "pyproject.toml", read).get("tool")
    tools = tools if isinstance(tools, Mapping) else {}
    ruff = next(
        (found for name in (".ruff.toml", "ruff.toml") if (found := _toml(root / name, read))), tools.get("ruff")
    )
    if isinstance(ruff, Mapping):
        formats = ruff.get("format")
        style = formats.get("quote-style") if isinstance(formats, Mapping) else None
        quote: Literal["'", '"'] | None = "'" if style == "single" else '"' if style == "double" else None
        quote = quote or ('"' if formats and style is None else None)
        return Style(_number(ruff.get("line-length")) or _USUAL, quote, hangs=formats is not None)
    if isinstance(black := tools.get("black"), Mapping):
        return Style(_number(black.get("line-length")) or _USUAL, None if _keeps_quotes(black) else '"', hangs=True)
    hook = _HOOK.search(_text(root / ".pre-commit-config.yaml", read))
    if hook is not None:
        said = _LENGTH.search(hook["rest"])
        keeps = hook["id"] == "black" and "skip-string-normalization" in hook["rest"]
        return Style(_number(int(said[1])) if said is not None else _USUAL, None if keeps else '"', hangs=True)
    return Style(next((width for name, table in _INI.items() if (width := _ini(root / name, table, read))), None))


def _keeps_quotes(black: Mapping[str, Any]) -> bool:
    return bool(black.get("skip-string-normalization", black.get("skip_string_normalization")))


def _number(value: object) -> int | None:
    return value if type(value) is int and 40 <= value <= 400 else None


def _toml(path: Path, read: Callable[[Path], bytes]) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(read(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _text(path: Path, read: Callable[[Path], bytes]) -> str:
    try:
        return read(path).decode("utf-8")
    except (OSError, ValueError):
        return ""


def _ini(path: Path, table: str, read: Callable[[Path], bytes]) -> int | None:
    """The `max-line-length` of flake8."""
    written = _text(path, read)
    if table not in written:
        return None
    import configparser  # most projects have no such file

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(written)
        text = parser.get(table, "max-line-length", fallback="") or parser.get(table, "max_line_length", fallback="")
    except (ValueError, configparser.Error):
        return None
    return _number(int(text)) if text.strip().isdecimal() else None
