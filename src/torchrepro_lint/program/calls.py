"""Call sites as rules see them: what is called, and with which arguments."""

from __future__ import annotations

import ast
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.origins import Constant, Display, Unknown

if TYPE_CHECKING:
    from torchrepro_lint.program.program import Program


class _Opaque(Enum):
    UNKNOWN = "unknown"


MAX_WRITTEN = 80
UNKNOWN: Final = _Opaque.UNKNOWN
"""An argument that may or may not be there, or a value that cannot be known: a rule stays silent on it."""

Opaque: TypeAlias = Literal[_Opaque.UNKNOWN]


class Argument(NamedTuple):
    """An argument's expression and the scope it is evaluated in (a `**kwargs` dict may lie elsewhere)."""

    node: ast.expr
    scope: Scope


class Call(NamedTuple):
    """A call of `name` (a canonical external name), or of a project class derived from it (`subclass`)."""

    node: ast.Call
    scope: Scope
    name: str
    program: Program
    subclass: Scope | None = None

    @property
    def facts(self) -> ModuleFacts:
        """The file the call is written in."""
        return self.scope.facts

    @property
    def written(self) -> str:
        """The callee as the user wrote it, e.g. `torch.utils.data.DataLoader`, on one line and not too long."""
        text = " ".join(self.facts.text(self.node.func).split())
        return text if len(text) <= MAX_WRITTEN else f"{text[: MAX_WRITTEN - 3]}..."

    def argument(self, name: str, position: int | None = None) -> Argument | Opaque | None:
        """The argument passed as keyword `name` or at 0-based `position`; None when it is absent.

        `**known_dict` is looked into; an opaque `*args` or `**kwargs` that may hold it gives UNKNOWN.
        """
        for keyword in self.node.keywords:
            if keyword.arg == name:
                return Argument(keyword.value, self.scope)
        if position is not None:
            before = self.node.args[: position + 1]
            if any(isinstance(a, ast.Starred) for a in before):
                return UNKNOWN
            if position < len(self.node.args):
                return Argument(self.node.args[position], self.scope)
        for keyword in self.node.keywords:
            if keyword.arg is None:
                found = self._unpacked(keyword.value, name)
                if found is not None:
                    return found
        return None

    def _unpacked(self, mapping: ast.expr, name: str) -> Argument | Opaque | None:
        """Look `name` up in the dict of `**mapping`."""
        entries = self.program.entries(mapping, self.scope)
        if entries is None:
            return UNKNOWN
        return entries.get(name)

    def literal(self, name: str, position: int | None = None, default: object = None) -> object:
        """The argument's constant value, `default` when it is absent, UNKNOWN when it is not one constant."""
        match self.argument(name, position):
            case Argument(node=node, scope=scope):
                return self.program.literal(node, scope)
            case None:
                return default
        return UNKNOWN

    def given(self, name: str, position: int | None = None) -> bool | Opaque:
        """Whether the argument is passed and is not None."""
        match self.argument(name, position):
            case None:
                return False
            case Argument(node=node, scope=scope):
                values = self.program.constants(node, scope)
                if values is not None and all(v is None for v in values):
                    return False
                return UNKNOWN if values is None and not isinstance(node, ast.Call) else True
        return UNKNOWN


def entries_of(display: Display) -> dict[str, Argument] | None:
    """The string-keyed entries of a dict display, or None when a key cannot be read."""
    if not isinstance(display.node, ast.Dict):
        return None
    found: dict[str, Argument] = {}
    for key, value in zip(display.node.keys, display.node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        found[key.value] = Argument(value, display.scope)
    return found


__all__ = ["UNKNOWN", "Argument", "Call", "Constant", "Opaque", "Unknown", "entries_of"]
