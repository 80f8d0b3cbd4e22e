"""What a project asks for of a package, in its own lists of dependencies.

Reads the tables of a `pyproject.toml` (standard and Poetry), `requirements*.txt` and the environment files of conda in
one folder. Resolves nothing, and does not say what a specifier means.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

_CLAUSE = r"(?:(?:===?|!=|[<>]=?|~=)\s*)?\d+(?:\.\d+)*(?:\.\*)?(?:(?:a|b|rc|\.?dev|\.?post)\d+)*(?:\+[\w.]+)?"
_VERSION = rf"{_CLAUSE}(?:\s*,\s*{_CLAUSE})*"
_REQUIREMENT = r"\s*(?P<name>[A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<rest>.*)"
_WHEEL = r"@.*\b\w+-(?P<version>\d+(?:\.\d+)+)"
_AFTER_SPECIFIER = r"\s*(?:;|\s#|^#|\s--|\\).*"
_CONDA = r"\s*-\s*[\"']?(?:[\w./-]+::)?(?P<name>[A-Za-z][\w.-]*)\s*(?P<rest>[^\"'#]*)"
_CONDA_EXACT = r"={1,2}\s*(?P<version>\d+(?:\.\d+)*)(?P<more>\.\*|\*)?(?:=\S+)?"


class Requirement(NamedTuple):
    """One package in one list. `text` is how it is written, `specifier` None where it names no version."""

    path: Path
    name: str
    text: str
    specifier: str | None

    def line(self) -> int:
        """The line it is written in, 1 where it cannot be found again."""
        lines = enumerate(self.path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        return next((number for number, line in lines if self.text in line), 1)


def is_version(text: str) -> bool:
    """Whether this is a version or specifier, such as `2.4` or `>=2.1,<2.5`."""
    return re.fullmatch(_VERSION, text) is not None


def declared(folder: Path) -> Iterator[Requirement]:
    """What all the lists of a folder ask for. A broken `pyproject.toml` asks for nothing."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    pyproject = folder / "pyproject.toml"
    try:
        document = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    except (OSError, ValueError):
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


def of_lists(folder: Path) -> Iterator[Requirement]:
    """What `requirements.txt`, then its siblings such as `requirements-dev.txt`, ask for."""
    for path in sorted(folder.glob("requirements*.txt"), key=lambda path: (len(path.name), path.name)):
        for line in _lines(path):
            yield from _requirement(path, line)


def of_environments(folder: Path) -> Iterator[Requirement]:
    """What the conda environments `environment.yml` and the like ask for, from conda and from pip."""
    for path in sorted((*folder.glob("*env*.yml"), *folder.glob("*env*.yaml"))):
        for line in _lines(path):
            if match := re.fullmatch(_CONDA, line.partition(" #")[0].rstrip(" \"'")):
                name = match["name"].lower()
                specifier = _conda_specifier(match["rest"].strip())
                yield Requirement(path, "torch" if name == "pytorch" else name, line.strip(), specifier)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


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
    match = re.fullmatch(_REQUIREMENT, line)
    if match is not None:
        text = re.sub(_AFTER_SPECIFIER, "", line).strip()
        yield Requirement(path, match["name"].lower(), text, _specifier(match["rest"]))


def _specifier(rest: str) -> str | None:
    """The version part of what follows a name."""
    if wheel := re.match(_WHEEL, rest):
        return f"=={wheel['version']}"
    text = re.sub(_AFTER_SPECIFIER, "", rest).strip().removeprefix("(").removesuffix(")").strip()
    return text if is_version(text) else None


def _poetry_specifier(value: object) -> str | None:
    """Poetry's own notation in the standard one: `^2.1` is `>=2.1,<3`, `~2.1` is `>=2.1,<2.2`."""
    text = value.get("version") if isinstance(value, Mapping) else value
    if not isinstance(text, str):
        return None
    clauses = [_poetry_clause(clause.strip()) for clause in text.split(",")]
    whole = ",".join(clauses)
    return whole if is_version(whole) else None


def _poetry_clause(clause: str) -> str:
    match = re.fullmatch(r"(\^|~(?!=))\s*(\d+)(?:\.(\d+))?[\d.]*", clause)
    if match is None:
        return f"=={clause}" if clause[:1].isdigit() else clause
    major, minor = int(match[2]), int(match[3] or 0)
    within_minor = match[1] == "~" and match[3] is not None
    upper = f"{major}.{minor + 1}" if within_minor else f"{major + 1}"
    return f">={clause.lstrip('^~ ')},<{upper}"


def _conda_specifier(rest: str) -> str | None:
    """conda's `=2.1` (any 2.1.x) and `2.1.0=build` in the standard notation."""
    exact = re.fullmatch(_CONDA_EXACT, rest if rest[:1] in "=<>!~" else f"={rest}")
    if exact is None:
        return rest if is_version(rest) else None
    fuzzy = exact["more"] or (not rest.startswith("==") and exact["version"].count(".") < 2)
    return f"=={exact['version']}.*" if fuzzy else f"=={exact['version']}"
