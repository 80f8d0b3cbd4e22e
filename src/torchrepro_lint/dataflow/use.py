"""A use of a value that is followed: where it is, and how it is held there. The vocabulary of `edges` and `follow`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Scope

ANY = "*"
CALLED = "()"

Path: TypeAlias = "tuple[object, ...]"
State = TypeVar("State")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Use(Generic[State]):
    """A place that the value has reached: `node` is the value, or a container that holds it under `path` (keys and
    positions, attributes as `.name`, ANY), or a function that gives it (CALLED). `state` is what the policy remembers
    of the way here."""

    node: ast.expr
    scope: Scope
    state: State
    path: Path = ()

    @property
    def parent(self) -> ast.AST:
        """What holds the expression."""
        return self.scope.facts.parents[self.node]

    @property
    def call(self) -> ast.Call | None:
        """The call that the expression is an argument of."""
        parent = self.parent
        call = self.scope.facts.parents[parent] if isinstance(parent, ast.keyword) else parent
        return call if isinstance(call, ast.Call) and call.func is not self.node else None

    @property
    def method(self) -> tuple[str, ast.Call] | None:
        """The method of the value that is called here, and the call."""
        parent = self.parent
        call = self.scope.facts.call_of(parent)
        return (parent.attr, call) if call is not None and isinstance(parent, ast.Attribute) else None

    def at(self, node: ast.AST, path: Path | None = None) -> Use[State]:
        """It is the value of `node`, too, which stands around it."""
        assert isinstance(node, ast.expr)
        scope = self.scope
        if scope.node is node and scope.parent is not None:  # a comprehension or lambda that the place is in
            scope = scope.parent
        return Use(node, scope, self.state, self.path if path is None else path)

    def site(self, site: Site) -> Use[State]:
        """It is at another site, too."""
        return Use(site.node, site.scope, self.state, self.path)

    def inside(self, key: object) -> Use[State]:
        """Seen as a container that holds it under `key`."""
        return replace(self, path=(key, *self.path))

    def opened(self, key: object) -> Use[State] | None:
        """What the container holds under `key`; None when it is something else."""
        if self.path and (self.path[0] == key or ANY in (self.path[0], key)):
            return replace(self, path=self.path[1:])
        return None

    def become(self, state: State) -> Use[State]:
        """The same place, with another state."""
        return replace(self, state=state)


@dataclass(frozen=True, slots=True, eq=False)
class Sink(Generic[Found]):
    """The question has an answer here."""

    found: Found


class Escape(Enum):
    """The value goes where it cannot be followed."""

    ESCAPED = 0


ESCAPED: Final = Escape.ESCAPED
STOP: Final = ()
Step: TypeAlias = "Use[Any] | Sink[Any] | Escape"
Steps: TypeAlias = "Iterable[Step]"


class Argument(NamedTuple):
    """How a value is passed: as the keyword `name`, or at `position`."""

    call: ast.Call
    name: str | None
    position: int | None


class Held(NamedTuple):
    """A name of `owner`, or an attribute where that is a class, that holds the value itself."""

    name: str
    owner: Scope
    state: Any
