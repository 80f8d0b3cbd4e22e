"""What the settings add to the catalogue: loaders that take a DataLoader's arguments, and functions that draw.

Each such name means one that the catalogue has, so that all rules treat it like that one.
"""

from __future__ import annotations

from collections.abc import Collection

from torchrepro_lint.index import Scope

_LOADER = "torch.utils.data.DataLoader"
_DRAWS = {"torch": "torch.rand", "numpy": "numpy.random.rand", "python": "random.random"}


class Configured:
    """`loader_classes` are dotted names; `rng_functions` too, with `:numpy` or `:python` for those generators."""

    def __init__(self, loader_classes: Collection[str] = (), rng_functions: Collection[str] = ()) -> None:
        self._meaning = dict.fromkeys(loader_classes, _LOADER)
        for item in rng_functions:
            name, _, family = item.partition(":")
            self._meaning[name] = _DRAWS[family or "torch"]

    def meaning(self, name: str) -> str:
        """The catalogue's name for an external one."""
        return self._meaning.get(name, name)

    def of_own(self, scope: Scope) -> str | None:
        """The catalogue's name for a class or function of the project, where the settings name it."""
        for name, meaning in self._meaning.items():
            if is_named(scope, name):
                return meaning
        return None

    def other_spellings(self, last: str) -> list[str]:
        """Under which names, as they are written, the catalogue's names that end in `last` go."""
        found = [n.rpartition(".")[2] for n, meaning in self._meaning.items() if meaning.rpartition(".")[2] == last]
        return [spelled for spelled in found if spelled != last]


def is_named(scope: Scope, name: str) -> bool:
    """Whether a dotted name, as settings give it, is that of a function or class of the project."""
    if scope.kind not in ("function", "class") or scope.own_name != name.rpartition(".")[2]:
        return False
    module = scope.facts.source.rel.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    full = f"{module}.{scope.name}"
    return full == name or full.endswith(f".{name}")
