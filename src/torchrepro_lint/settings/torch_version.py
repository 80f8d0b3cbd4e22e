"""The torch that a project asks for, from its own lists of dependencies.

Reads `pyproject.toml` (standard and Poetry tables) and `requirements*.txt` in one folder; resolves nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torchrepro_lint.settings.tables import load

_CLAUSE = r"(?:(?:===?|!=|[<>]=?|~=)\s*)?\d+(?:\.\d+)*(?:\.\*)?(?:(?:a|b|rc|\.?dev|\.?post)\d+)*(?:\+[\w.]+)?"
_VERSION = rf"{_CLAUSE}(?:\s*,\s*{_CLAUSE})*"
_REQUIREMENT = r"(?i)\s*torch(?![\w.-])\s*(?:\[[^\]]*\])?\s*(?P<rest>.*)"
_WHEEL = r"@.*\btorch-(?P<version>\d+(?:\.\d+)+)"
_AFTER_SPECIFIER = r"\s*(?:;|\s#|^#|\s--|\\).*"


def is_version(text: str) -> bool:
    """Whether this is a version or specifier, such as `2.4` or `>=2.1,<2.5`."""
    return re.fullmatch(_VERSION, text) is not None


def project_torch(root: Path) -> str | None:
    """A version or specifier such as `==2.1.0` or `>=2.0,<3`; None if the project names none."""
    pyproject = root / "pyproject.toml"
    document = load(pyproject) if os.path.isfile(pyproject) else {}  # noqa: PTH113 - never raises
    found = (*map(_specifier, _requirements(document)), *map(_poetry_specifier, _poetry_values(document)))
    for specifier in (*found, *map(_specifier, _requirement_lines(root))):
        if specifier:
            return specifier
    return None


def _requirements(document: Mapping[str, Any]) -> Iterator[str]:
    """The requirement strings of a `pyproject.toml`: of the project, its extras, its dependency groups."""
    project = _table(document.get("project"))
    groups = [project.get("dependencies")]
    groups += _table(project.get("optional-dependencies")).values()
    groups += _table(document.get("dependency-groups")).values()
    for group in groups:
        yield from (item for item in (group if isinstance(group, list) else ()) if isinstance(item, str))


def _poetry_values(document: Mapping[str, Any]) -> Iterator[Any]:
    """What Poetry's tables say of torch; several entries there are for several platforms."""
    poetry = _table(_table(document.get("tool")).get("poetry"))
    groups = [poetry, *map(_table, _table(poetry.get("group")).values())]
    for group in groups:
        for key in ("dependencies", "dev-dependencies"):
            value = _table(group.get(key)).get("torch")
            yield from value if isinstance(value, list) else [value]


def _requirement_lines(root: Path) -> Iterator[str]:
    """The lines of `requirements.txt`, then of its siblings such as `requirements-dev.txt`."""
    for path in sorted(root.glob("requirements*.txt"), key=lambda path: (len(path.name), path.name)):
        try:
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue


def _specifier(requirement: str) -> str | None:
    """The version part of a requirement, if it is one of torch."""
    match = re.fullmatch(_REQUIREMENT, requirement)
    if match is None:
        return None
    if wheel := re.match(_WHEEL, match["rest"]):
        return f"=={wheel['version']}"
    text = re.sub(_AFTER_SPECIFIER, "", match["rest"]).strip().removeprefix("(").removesuffix(")").strip()
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


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
