"""A copy of the program with the linter's safe fixes, to be rerun beside the program as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchrepro_lint.discover import project_root
from torchrepro_lint.engine import Request
from torchrepro_lint.repair import fix
from torchrepro_lint.rerun.launching import copied
from torchrepro_lint.settings import SettingsResolver


@dataclass(frozen=True)
class Fixed:
    """The copy's folder that stands for the current one, how many problems were fixed, and the diffs per file."""

    root: Path
    fixed: int
    diffs: tuple[tuple[str, str], ...]


def fixed_copy(root: Path, files: Sequence[Path], folder: Path, resolver: SettingsResolver) -> Fixed:
    """Copy the project that `root` lies in below `folder` and apply the safe fixes to the copies of `files`."""
    project = project_root([root])
    copy = copied(project, folder)
    paths = tuple(copy / path.relative_to(project) for path in files if path.is_relative_to(project))
    result = fix(Request(paths, resolver), unsafe=False, write=True)
    return Fixed(copy / root.relative_to(project), result.fixed, result.diffs)
