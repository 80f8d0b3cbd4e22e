"""Values as users write them, checked and normalised, one key at a time.

Every refusal names where the value was set and, where there is one, the nearest valid value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from torchrepro_lint.requirements import is_version
from torchrepro_lint.settings.tables import SettingsError

SELECTIONS = ("select", "ignore", "extend-select")
LISTS = ("exclude", "extend-exclude", "src")
KEYS = (
    *SELECTIONS,
    *LISTS,
    "per-file-ignores",
    "seed",
    "torch",
    "seed-functions",
    "loader-classes",
    "rng-functions",
    "evidence",
    "baseline",
    "min-certainty",
    "max-file-size",
    "max-file-seconds",
    "cache-dir",
    "extend",
)
CERTAINTIES = ("certain", "likely", "depends")
MAX_SEED = 2**32 - 1  # numpy takes no more
MAX_SECONDS = 86_400
MAX_MEGABYTES = 1000  # a syntax tree takes a hundred times as much memory as its text
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"


def checked(key: str, value: object, origin: str, known: Mapping[str, str]) -> Any:
    """The value as `Settings` holds it; `known` maps the codes of all rules to their names."""
    if key in SELECTIONS:
        return selectors(value, origin, known)
    if key in LISTS:
        return tuple(_for_paths(item, origin) for item in strings(value, origin))
    match key:
        case "per-file-ignores":
            return _per_file_ignores(value, origin, known)
        case "seed":
            return _seed(value, origin)
        case "max-file-size":
            return _whole_number(value, origin, "megabytes", MAX_MEGABYTES)
        case "max-file-seconds":
            return _whole_number(value, origin, "seconds", MAX_SECONDS)
        case "torch":
            return _version(value, origin)
        case "seed-functions":
            return _dotted_names(value, origin, "package.seed_all")
        case "loader-classes":
            return _dotted_names(value, origin, "package.FastLoader")
        case "rng-functions":
            return _dotted_names(value, origin, "package.jitter:numpy", rf"{_DOTTED}(?::(?:torch|numpy|python))?")
        case "extend" | "evidence" | "baseline":
            return path_text(value, origin)
        case "cache-dir":
            return _folder_inside(value, origin)
        case "min-certainty":
            return _certainty(value, origin)
    raise SettingsError(f"{origin}: unknown key{_nearest(key, KEYS)}")


def selectors(value: object, origin: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Codes, prefixes and ALL in upper case; a rule's name becomes its code."""
    return tuple(_selector(item.strip(), origin, known) for item in strings(value, origin))


def strings(value: object, origin: str) -> tuple[str, ...]:
    """A list of strings, as a tuple."""
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise SettingsError(f"{origin}: must be a list of strings, not {_shown(value)}")


def string(value: object, origin: str) -> str:
    """A string."""
    if isinstance(value, str):
        return value
    raise SettingsError(f"{origin}: must be a string, not {_shown(value)}")


def path_text(value: object, origin: str) -> str:
    """A string that can name a file."""
    return _for_paths(string(value, origin), origin)


def _for_paths(text: str, origin: str) -> str:
    if "\0" in text:
        raise SettingsError(f"{origin}: {quoted(text)} has a null character, which no path can have")
    return text


def _selector(item: str, origin: str, known: Mapping[str, str]) -> str:
    code = item.upper()
    if code == "ALL" or (code and any(rule.startswith(code) for rule in known)):
        return code
    for rule, name in known.items():
        if name == item.lower():
            return rule
    raise SettingsError(f"{origin}: unknown rule {quoted(item)}{_nearest(item, [*known, *known.values(), 'ALL'])}")


def _per_file_ignores(value: object, origin: str, known: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if isinstance(value, Mapping):
        return tuple(
            (_for_paths(glob, origin), selectors(rules, f"{origin} {quoted(glob)}", known))
            for glob, rules in value.items()
        )
    raise SettingsError(f"{origin}: must be a table of patterns, each with a list of rules")


def _dotted_names(value: object, origin: str, example: str, pattern: str = _DOTTED) -> tuple[str, ...]:
    names = strings(value, origin)
    for name in names:
        if not re.fullmatch(pattern, name):
            raise SettingsError(f"{origin}: {quoted(name)} is not a dotted name such as {example!r}")
    return names


def _seed(value: object, origin: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SEED:
        return value
    raise SettingsError(f"{origin}: must be a whole number from 0 to {MAX_SEED}, not {_shown(value)}")


def _folder_inside(value: object, origin: str) -> str:
    """A folder of the project: a stranger's settings name no other to be written into."""
    text = path_text(value, origin)
    path = PurePath(text)
    if not path.parts or path.is_absolute() or path.drive or ".." in path.parts:
        raise SettingsError(f"{origin}: must be a folder within the project, not {quoted(text)}")
    return text


def _certainty(value: object, origin: str) -> str:
    text = string(value, origin)
    if text in CERTAINTIES:
        return text
    raise SettingsError(f"{origin}: must be one of {', '.join(CERTAINTIES)}, not {text!r}{_nearest(text, CERTAINTIES)}")


def _whole_number(value: object, origin: str, unit: str, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most:
        return value
    raise SettingsError(f"{origin}: must be a whole number of {unit} from 1 to {most}, not {_shown(value)}")


def _version(value: object, origin: str) -> str:
    text = string(value, origin).strip()
    if is_version(text):
        return text
    raise SettingsError(f"{origin}: {quoted(text)} is not a version such as '2.4' or '>=2.1,<2.5'")


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "a list of other things"
    return quoted(value) if isinstance(value, (str, int, float)) else "a table"


def quoted(value: str | float) -> str:
    """The value as it is written in a message: a long one is cut."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _nearest(word: str, valid: Iterable[str]) -> str:
    from difflib import get_close_matches

    as_written: Sequence[str] = tuple(valid)
    lower = [name.lower() for name in as_written]
    close = get_close_matches(word.lower().replace("_", "-"), lower, n=1, cutoff=0.5)
    return f"; did you mean {as_written[lower.index(close[0])]!r}?" if close else ""
