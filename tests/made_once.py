"""What takes long to make, and is only read, is made once for all processes of pytest-xdist."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of this run of pytest that `make` fills: in the process that asks first, while the others wait."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / f"once-{name}"
    made = folder.with_suffix(".made")
    with FileLock(folder.with_suffix(".lock")):
        if not made.exists():
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
