"""Other packages, imported when a probe of theirs runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torchrepro_lint.verify.experiment import Missing


def imported(name: str) -> Any:
    """The module of this name. Raises Missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise Missing(name.partition(".")[0]) from error
