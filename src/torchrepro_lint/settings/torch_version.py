"""The torch that a project asks for, from its own lists of dependencies; see `requirements`."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

from torchrepro_lint.requirements import of_environments, of_lists, of_pyproject
from torchrepro_lint.settings.tables import load


def project_torch(root: Path) -> str | None:
    """A version or specifier such as `==2.1.0` or `>=2.0,<3`; None if the project names none."""
    pyproject = root / "pyproject.toml"
    document = load(pyproject) if os.path.isfile(pyproject) else {}  # noqa: PTH113 - never raises
    for found in chain(of_pyproject(pyproject, document), of_lists(root), of_environments(root)):
        if found.name == "torch" and found.specifier:
            return found.specifier
    return None
