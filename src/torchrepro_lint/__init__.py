"""Find, fix and prove nondeterminism in PyTorch training code.

What is listed in `__all__` is public. It is imported when it is asked for, so that a command starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrepro_lint.api import Report, check
    from torchrepro_lint.model import (
        Certainty,
        Edit,
        Finding,
        Fix,
        Level,
        Location,
        Position,
        Range,
        Related,
        Safety,
    )
    from torchrepro_lint.settings import SettingsError

__version__ = "0.1.0"
ISSUES = "https://github.com/torchrepro/torchrepro-lint/issues"  # where a mistake in it is reported

__all__ = [
    "Certainty",
    "Edit",
    "Finding",
    "Fix",
    "Level",
    "Location",
    "Position",
    "Range",
    "Related",
    "Report",
    "Safety",
    "SettingsError",
    "__version__",
    "check",
]

_HOMES = {"Report": "api", "check": "api", "SettingsError": "settings"}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext torchrepro_lint`: tell after each cell what is wrong in the notebook so far."""
    import_module(f"{__name__}.jupyter").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext torchrepro_lint`."""
    import_module(f"{__name__}.jupyter").unload(shell)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'model')}"), name)
