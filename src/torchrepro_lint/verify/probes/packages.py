"""Other packages, imported when a probe of theirs runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torchrepro_lint.verify.experiment import Missing


def imported(name: str) -> Any:
    """The module of this name. Raises Missing where it is absent, or was built for another PyTorch."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise Missing(package, "" if error.name == package else str(error)) from error
    except (ImportError, OSError, RuntimeError) as error:
        raise Missing(package, str(error).partition("\n")[0]) from error
