"""What a project asks for of a package, in its own lists of dependencies.

Reads the tables of a `pyproject.toml` (standard and Poetry) and of a `Pipfile`, `requirements*.txt`, also in a folder
`requirements`, the environment files of conda, a `setup.py` and a `setup.cfg`, all of one folder; and what its README
and its Dockerfile say of PyTorch. Resolves nothing, and does not say what a specifier means.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torchrepro_lint.reading import read_regular, read_start
from torchrepro_lint.records import NamedTuple

# Each of these is matched in time that grows with the text alone: no two parts that follow one another take the same.
_MAX_SPECIFIER = 200  # characters: no list asks for more, and Python refuses numbers of thousands of digits
_CLAUSE = r"(?:(?:===?|!=|[<>]=?|~=)\s*)?\d+(?:\.\d+)*(?:\.\*)?(?:(?:a|b|rc|\.?dev|\.?post)\d+)*(?:\+[\w.]+)?"
_VERSION = rf"{_CLAUSE}(?:\s*,\s*{_CLAUSE})*"
_NAME = r"[A-Za-z][\w.-]*"
_IN_WHEEL = r"(?<=\w)-(\d+(?:\.\d+)+)"
_AFTER_SPECIFIER = r";|\s#|^#|\s--|\\"
_CHANNEL = r"[\w./-]+::"
_CONDA_EXACT = r"={1,2}\s*(?P<version>\d+(?:\.\d+)*)(?P<more>\.\*|\*)?(?:=\S+)?"
_POETRY_RANGE = r"(?P<sign>\^|~(?!=))\s*(?P<version>\d+(?:\.\d+)*)"

_MAX_READ = 200_000  # bytes of a README or a setup.py
_RELEASE = r"(?<![\w.])v?([012]\.\d{1,2}(?:\.\d{1,2})?)(?!\.?\d)"
_TORCH = r"(?:(?<![\w/-])|(?<=badge/)|(?<=pytorch/))(?:[Pp]y)?[Tt]orch"  # the last: an image, `pytorch/pytorch:1.2`
_LINK = r"\]\([^)\s]{0,100}\)"
_WORD = r"(?:(?:[Vv]ersions?|版本)[^\w\n]{0,9})?"
# `1.1.0 <= PyTorch`, `[PyTorch](https://pytorch.org) version: 1.4`, `img.shields.io/badge/PyTorch-1.4-red`
_IN_README = rf"{_RELEASE} ?(?:<=?|=<|≤) ?{_TORCH}\b|{_TORCH}(?:{_LINK})?[^\w\n]{{0,9}}{_WORD}{_RELEASE}"
_IN_SETUP = r"[\"'](torch[^\"']{0,200})[\"']"

Refused = Callable[[Path, str], None]


class Requirement(NamedTuple):
    """One package in one list. `text` is how it is written, `specifier` None where it names no version."""

    path: Path
    name: str
    text: str
    specifier: str | None

    def line(self) -> int:
        """The line it is written in, 1 where it cannot be found again."""
        lines = enumerate(_lines(self.path, _ignore), 1)
        return next((number for number, line in lines if self.text in line), 1)


def is_version(text: str) -> bool:
    """Whether this is a version or specifier, such as `2.4` or `>=2.1,<2.5`."""
    return len(text) <= _MAX_SPECIFIER and re.fullmatch(_VERSION, text) is not None


def declared(folder: Path) -> Iterator[Requirement]:
    """What all the lists of a folder ask for. A broken `pyproject.toml` asks for nothing."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    pyproject = folder / "pyproject.toml"
    try:
        document = tomllib.loads(read_regular(pyproject).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        document = {}
    yield from of_pyproject(pyproject, document)
    yield from of_lists(folder)
    yield from of_environments(folder)


def of_pyproject(path: Path, document: Mapping[str, Any]) -> Iterator[Requirement]:
    """What the parsed `pyproject.toml` at `path` asks for."""
    for text in _standard(document):
        yield from _requirement(path, text)
    for name, value in _poetry(document):
        for item in value if isinstance(value, list) else [value]:
            yield Requirement(path, name.lower(), name, _poetry_specifier(item))


def of_lists(folder: Path, refused: Refused = lambda path, reason: None) -> Iterator[Requirement]:
    """What `requirements.txt`, then its siblings such as `requirements-dev.txt`, ask for; `refused` is told of those
    that cannot be read."""
    lists = sorted(_named(folder, "requirement", ".txt"), key=lambda path: (len(path.name), path.name))
    for path in (*lists, *sorted(_named(folder / "requirements", "", ".txt"))):
        for line in _lines(path, refused):
            yield from _requirement(path, line)


def of_environments(folder: Path, refused: Refused = lambda path, reason: None) -> Iterator[Requirement]:
    """What the conda environments `environment.yml` and the like ask for, from conda and from pip."""
    for path in sorted(path for path in _named(folder, "", (".yml", ".yaml")) if "env" in path.stem):
        for line in _lines(path, refused):
            yield from _in_environment(path, line.strip())


def of_setup(folder: Path) -> Iterator[Requirement]:
    """What the requirement strings of a `setup.py` ask for of torch, and the lines of a `setup.cfg`."""
    path = folder / "setup.py"
    for line in _start_of(path).splitlines():
        for text in re.findall(_IN_SETUP, "" if line.lstrip().startswith("#") else line):
            yield from _requirement(path, text)
    path = folder / "setup.cfg"
    for line in _start_of(path).splitlines():
        yield from _requirement(path, line.removeprefix("install_requires").lstrip(" ="))


def of_pipfile(path: Path, document: Mapping[str, Any]) -> Iterator[Requirement]:
    """What the parsed `Pipfile` at `path` asks for; its notation is the standard one."""
    for table in ("packages", "dev-packages"):
        for name, value in _table(document.get(table)).items():
            text = value.get("version") if isinstance(value, Mapping) else value
            is_known = isinstance(text, str) and is_version(text)
            yield Requirement(path, name.lower(), name, text if is_known else None)


def torch_of_readme(folder: Path) -> list[str]:
    """The releases of PyTorch that the READMEs and the Dockerfiles of a folder speak of, such as `1.4.0`."""
    told = ("readme", "dockerfile")
    texts = (_start_of(path) for path in sorted(p for p in _named(folder, "", "") if p.name.lower().startswith(told)))
    return [before or behind for text in texts for before, behind in re.findall(_IN_README, text)]


def _start_of(path: Path) -> str:
    try:
        return read_start(path, _MAX_READ).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _named(folder: Path, start: str, end: str | tuple[str, ...]) -> list[Path]:
    """The files of a folder whose names begin and end like that; a pattern would take as long as all else here."""
    try:
        names = {name: os.path.normcase(name) for name in os.listdir(folder)}  # noqa: PTH208
    except OSError:
        return []
    return [folder / name for name, plain in names.items() if plain.startswith(start) and plain.endswith(end)]


def _lines(path: Path, refused: Refused) -> list[str]:
    try:
        return read_regular(path).decode("utf-8", errors="replace").splitlines()
    except IsADirectoryError:
        return []
    except OSError as error:
        refused(path, error.strerror or str(error))
        return []


def _ignore(path: Path, reason: str) -> None:
    """For who was told before."""


# -- pyproject.toml -------------------------------------------------------------------------------------------------
def _standard(document: Mapping[str, Any]) -> Iterator[str]:
    """The requirement strings of the project, its extras and its dependency groups."""
    project = _table(document.get("project"))
    groups = [project.get("dependencies")]
    groups += _table(project.get("optional-dependencies")).values()
    groups += _table(document.get("dependency-groups")).values()
    for group in groups:
        yield from (item for item in (group if isinstance(group, list) else ()) if isinstance(item, str))


def _poetry(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The entries of Poetry's tables; several values of one entry are for several platforms."""
    poetry = _table(_table(document.get("tool")).get("poetry"))
    for group in [poetry, *map(_table, _table(poetry.get("group")).values())]:
        for key in ("dependencies", "dev-dependencies"):
            yield from _table(group.get(key)).items()


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# -- specifiers -----------------------------------------------------------------------------------------------------
def _requirement(path: Path, line: str) -> Iterator[Requirement]:
    line = line.strip()
    name = re.match(_NAME, line)
    if name is not None and "\n" not in line:
        rest = line[name.end() :].lstrip()
        if rest.startswith("[") and "]" in rest:
            rest = rest.partition("]")[2].lstrip()
        yield Requirement(path, name.group().lower(), _written(line), _specifier(rest))


def _written(text: str) -> str:
    """Without markers, comments and options."""
    after = re.search(_AFTER_SPECIFIER, text)
    return (text[: after.start()] if after else text).strip()


def _specifier(rest: str) -> str | None:
    """The version part of what follows a name."""
    wheels = re.findall(_IN_WHEEL, rest) if rest.startswith("@") else []
    text = f"=={wheels[-1]}" if wheels else _written(rest).removeprefix("(").removesuffix(")").strip()
    return text if is_version(text) else None


def _poetry_specifier(value: object) -> str | None:
    """Poetry's own notation in the standard one: `^2.1` is `>=2.1,<3`, `~2.1` is `>=2.1,<2.2`."""
    text = value.get("version") if isinstance(value, Mapping) else value
    if not isinstance(text, str) or len(text) > _MAX_SPECIFIER:
        return None
    clauses = [_poetry_clause(clause.strip()) for clause in text.split(",")]
    whole = ",".join(clauses)
    return whole if is_version(whole) else None


def _poetry_clause(clause: str) -> str:
    match = re.fullmatch(_POETRY_RANGE, clause)
    if match is None:
        return f"=={clause}" if clause[:1].isdigit() else clause
    major, *rest = map(int, match["version"].split("."))
    upper = f"{major}.{rest[0] + 1}" if match["sign"] == "~" and rest else f"{major + 1}"
    return f">={match['version']},<{upper}"


def _in_environment(path: Path, line: str) -> Iterator[Requirement]:
    """The entry of a list in YAML: `- conda-forge::pytorch=2.1  # why`."""
    entry = line.partition(" #")[0].rstrip(" \"'")
    if not entry.startswith("-"):
        return
    entry = entry[1:].lstrip()
    entry = entry[1:] if entry[:1] in ("'", '"') else entry
    channel = re.match(_CHANNEL, entry)
    entry = entry[channel.end() :] if channel else entry
    match = re.match(_NAME, entry)
    if match is None or not {"'", '"', "#"}.isdisjoint(entry):
        return
    name = match.group().lower()
    yield Requirement(
        path, "torch" if name == "pytorch" else name, line, _conda_specifier(entry[match.end() :].strip())
    )


def _conda_specifier(rest: str) -> str | None:
    """conda's `=2.1` (any 2.1.x) and `2.1.0=build` in the standard notation."""
    exact = re.fullmatch(_CONDA_EXACT, rest if rest[:1] in "=<>!~" else f"={rest}")
    if exact is None or len(rest) > _MAX_SPECIFIER:
        return rest if is_version(rest) else None
    fuzzy = exact["more"] or (not rest.startswith("==") and exact["version"].count(".") < 2)
    return f"=={exact['version']}.*" if fuzzy else f"=={exact['version']}"
