"""What becomes of a value that a call is given: kept by a loader, handed on item by item, or bound to a
parameter.

Answers for one argument of one call, in `Step`s; `flow` takes the steps. Knows the calls of the catalogue
table `distributed`; a call of anything else outside the project is where a value is lost from sight.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope

ANY = "*"
_LOGGING = frozenset({"info", "debug", "warning", "log", "critical", "error", "exception", "print"})


@dataclass(frozen=True, slots=True)
class Held:
    """How a value holds the followed object.

    `path` leads into containers first (keys, positions, attribute names as `.name`, ANY), then `chain` names
    the attributes that lead to the object; it is None for something that only iterates it.
    """

    chain: tuple[str, ...] | None = ()
    path: tuple[object, ...] = ()

    def inside(self, key: object) -> Held:
        """Held by a container under `key`."""
        return Held(self.chain, (key, *self.path))

    def opened(self, key: object) -> Held | None:
        """What is under `key`; None when it is something else."""
        if self.path and (self.path[0] == key or ANY in (self.path[0], key)):
            return Held(self.chain, self.path[1:])
        return None

    def kept_as(self, attribute: str) -> Held:
        """Held by an object that keeps it under `attribute`."""
        return Held(self.chain if self.chain is None else (attribute, *self.chain))


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """The value of `node` now holds it."""

    node: ast.AST
    held: Held


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """It is put into `target`, which is written where the call is."""

    target: ast.expr
    held: Held


@dataclass(frozen=True, slots=True, eq=False)
class Enters:
    """It becomes the parameter `name` of `function`."""

    function: Scope
    name: str
    held: Held


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Instances of `owner` keep it as the attribute `name`."""

    owner: Scope
    name: str
    held: Held


@dataclass(frozen=True, slots=True, eq=False)
class Iterates:
    """The call starts a pass over it."""


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """It goes where it cannot be followed."""


Step: TypeAlias = "Value | Target | Enters | Kept | Iterates | Lost"


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """A value that `call` is given by the keyword `name`, or at `position`."""

    call: ast.Call
    name: str | None
    position: int | None
    held: Held


def passed(node: ast.AST, parent: ast.AST, facts: ModuleFacts, held: Held) -> Passed | None:
    """How `node` is an argument; None where that cannot be told."""
    call = facts.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return None  # a keyword of a class definition
    if isinstance(parent, ast.keyword) and parent.arg is not None:
        return Passed(call, parent.arg, None, held)
    if isinstance(parent, ast.keyword):  # `**mapping`
        key = held.path[0] if held.path else None
        opened = held.opened(key)
        return Passed(call, key, None, opened) if isinstance(key, str) and key != ANY and opened else None
    position = next((i for i, a in enumerate(call.args) if a is node), None)
    if position is None or any(isinstance(a, ast.Starred) for a in call.args[:position]):
        return None
    return Passed(call, None, position, held)


def steps(program: Program, given: Passed, scope: Scope) -> Iterator[Step]:
    """What becomes of the value, for everything that the call may call."""
    for callee in program.values.callees(given.call, scope):
        match callee:
            case str():
                yield from _external(given, callee)
            case Scope(kind="class"):
                yield from _constructed(program, given, callee)
            case Scope():
                yield _parameter(given, callee)
            case _:
                yield from _unresolved(given)


def _external(given: Passed, callee: str) -> Iterator[Step]:
    table = catalogue.table("distributed")
    keeper = _keeper(callee.removesuffix(".__init__"), given.name, given.position)
    if keeper is not None and not given.held.path:
        yield Value(given.call, given.held.kept_as(keeper))
    elif callee in table["wrappers"]["names"]:
        if callee == "builtins.iter" and not given.held.path:
            yield Iterates()
        yield Value(given.call, _wrapped(given, callee))
    elif callee == "builtins.dict" and given.name is not None:
        yield Value(given.call, given.held.inside(given.name))
    elif callee in ("builtins.list", "builtins.tuple") and given.held.path:
        yield Value(given.call, given.held)
    elif callee not in table["lookers"]["names"] and not callee.startswith("logging."):
        yield Lost()


def _wrapped(given: Passed, callee: str) -> Held:
    """What iterates the argument; an item of an enumerated or zipped container comes in a tuple."""
    if not given.held.path:
        return Held(None)
    place = {"builtins.enumerate": 1, "builtins.zip": given.position}.get(callee)
    return given.held if place is None else Held(given.held.chain, (ANY, place, *given.held.path[1:]))


def _keeper(callee: str, name: str | None, position: int | None) -> str | None:
    """The attribute by which a loader or batch sampler keeps the argument."""
    rows: list[dict[str, Any]] = catalogue.table("distributed")["holders"]
    for row in rows:
        given = name == row["argument"] if name else position == row.get("position", -1)
        if given and callee in row["names"]:
            return str(row["held"])
    return None


def _constructed(program: Program, given: Passed, owner: Scope) -> Iterator[Step]:
    constructor = program.names.class_member(owner, "__init__")
    position = given.position if constructor is None else None
    bases = [b for b in program.names.bases(owner) if isinstance(b, str)]
    keeper = next((k for b in bases if (k := _keeper(b, given.name, position))), None)
    if keeper is not None and not given.held.path:
        yield Value(given.call, given.held.kept_as(keeper))
    if isinstance(constructor, Scope):
        yield _parameter(given, constructor)
        if keeper is None and isinstance(program.names.class_member(owner, "__iter__"), Scope):
            yield Value(given.call, Held(None, given.held.path))
    elif keeper is None:
        yield from _field(given, owner)


def _field(given: Passed, owner: Scope) -> Iterator[Step]:
    """A data class or named tuple keeps the argument under the field's name."""
    assert isinstance(owner.node, ast.ClassDef)
    names = [s.target.id for s in owner.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
    place = given.position if given.position is not None else len(names)
    name = given.name or (names[place] if place < len(names) else None)
    if name is None:
        yield Lost()
    else:
        yield Value(given.call, given.held.inside(f".{name}"))
        yield Kept(owner, name, given.held)


def _parameter(given: Passed, function: Scope) -> Step:
    node = function.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return Lost()
    names = [a.arg for a in node.args.posonlyargs + node.args.args]
    name = given.name
    if given.position is not None:
        place = given.position + (1 if function.self_name else 0)
        name = names[place] if place < len(names) else None
    if name is None:
        return Lost()  # it goes into *args
    if name in names or any(a.arg == name for a in node.args.kwonlyargs):
        return Enters(function, name, given.held)
    return Enters(function, node.args.kwarg.arg, given.held.inside(name)) if node.args.kwarg else Lost()


def _unresolved(given: Passed) -> Iterator[Step]:
    """A method of something that is not known; those of lists, dicts and loggers are."""
    function = given.call.func
    method = function.attr if isinstance(function, ast.Attribute) else None
    if isinstance(function, ast.Attribute) and method == "append":
        yield Target(function.value, given.held.inside(ANY))
    elif isinstance(function, ast.Attribute) and method == "update" and (given.name or given.held.path):
        yield Target(function.value, given.held.inside(given.name) if given.name else given.held)
    elif method not in _LOGGING:
        yield Lost()
