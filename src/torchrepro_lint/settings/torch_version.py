"""The torch that a project asks for, from its own lists of dependencies, see `requirements`; where they name none, from
a README or a Dockerfile that speaks of a release older than those that are meant then."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

from torchrepro_lint.requirements import (
    Refused,
    of_environments,
    of_lists,
    of_pipfile,
    of_pyproject,
    of_setup,
    torch_of_readme,
)
from torchrepro_lint.settings.tables import SettingsError, is_there, load, shown

MAX_ENTRIES = 200  # of the project's folder: one with more holds data


def project_torch(root: Path, refused: Refused = lambda path, reason: None) -> str | None:
    """A version or specifier such as `==2.1.0` or `>=2.0,<3`; None if the project names none. `refused` is told of each
    list that cannot be read."""
    pyproject = root / "pyproject.toml"
    document = _document(pyproject, refused)
    pipfile = root / "Pipfile"
    lists = chain(
        of_pyproject(pyproject, document),
        of_lists(root, refused),
        of_environments(root, refused),
        of_setup(root),
        of_pipfile(pipfile, _document(pipfile, refused)),
    )
    listed = next((found.specifier for found in lists if found.name == "torch" and found.specifier), None)
    return listed or _of_readme(root)


def _document(path: Path, refused: Refused) -> dict[str, Any]:
    """The tables of a `pyproject.toml` or `Pipfile`. A broken one that names us has ended the run where settings are
    read; another one's dependencies are missing."""
    try:
        return load(path) if is_there(path) else {}
    except SettingsError as error:
        refused(path, str(error).removeprefix(f"{shown(path)}:").strip())
        return {}


def _of_readme(root: Path) -> str | None:
    """The oldest release that a README says, where all that it says are older than fixes would think of. Where the
    project's own says none, those of the folders in it are asked."""
    said = sorted(torch_of_readme(root) or chain.from_iterable(map(torch_of_readme, _folders(root))), key=_release)
    if not said:
        return None
    from torchrepro_lint.project.versions import OLDEST_MEANT  # few READMEs speak of a release

    return f">={said[0]}" if _release(said[-1]) < _release(OLDEST_MEANT) else None


def _folders(root: Path) -> list[Path]:
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return []
    own = (p for p in entries if not p.name.startswith(".") and not p.is_symlink() and p.is_dir())
    return list(own) if len(entries) <= MAX_ENTRIES else []


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
