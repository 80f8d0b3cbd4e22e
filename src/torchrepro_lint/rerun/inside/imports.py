"""Runs something right after the program has imported a module, without importing it for the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class AfterImport(MetaPathFinder):
    """Finds nothing itself: has a module found by the others, and acts once it was executed."""

    def __init__(self) -> None:
        self._actions: dict[str, list[Action]] = {}

    def when(self, name: str, action: Action) -> None:
        """Act on the module now if it is there, else as soon as it is."""
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            action(module)
        else:
            self._actions.setdefault(name, []).append(action)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        actions = self._actions.pop(fullname, None)
        if actions is None:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target) if finder is not self else None
            if spec is not None and spec.loader is not None:
                spec.loader = _Acting(spec.loader, actions)  # type: ignore[assignment]
                return spec
        self._actions[fullname] = actions  # not there: the program may put it on the path yet
        return None


class _Acting:
    """A module's own loader, which acts on the module when it is done and then steps aside."""

    def __init__(self, loader: Any, actions: list[Action]) -> None:
        self._loader, self._actions = loader, actions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for action in self._actions:
            action(module)
