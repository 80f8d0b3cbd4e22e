"""What a program chooses by its name: `MODELS.get(name)`, `build(config, MODELS)`, `getattr(models, name)`, an item of
`vars(models)`, a class that `issubclass` is asserted of.

Where the name is not known, all that it can mean are chosen, if they are few. What may stand in a table is for
`registries`; what an expression may be is asked of the evaluation.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from torchrepro_lint.dataflow.abstract_values import (
    Constant,
    Display,
    Origin,
    Reference,
    display_item,
    display_items,
    is_configured,
)
from torchrepro_lint.dataflow.store import remembered_in_file
from torchrepro_lint.index import Binding, ModuleFacts, Scope, last_name, walk
from torchrepro_lint.project.names import Names

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.registries import Registries

MAX_CHOSEN = 8  # functions or classes of one table, where it is not known which is meant
MAX_NAMES = 64  # of a module of which a class is chosen
MAX_LISTED = 16  # classes that a loop looks at, of modules of which one is imported by its name
_MAKES = ("build", "create", "make", "instantiate", "construct")  # what the names of functions begin with that call
_BEGINNINGS = frozenset(name[:4] for name in ("get", "getattr", *_MAKES))
_NAMING = ("type", "name", "_target_", "cls", "class")  # what they are told, in a configuration


class Chosen(NamedTuple):
    """The functions and classes that a call may choose, and whether it calls the one that it chooses as well."""

    targets: Sequence[Scope | str]
    is_called: bool


def may_choose(call: ast.Call) -> bool:
    """Whether a call may be one that chooses by a name, as most are not."""
    return last_name(call.func)[:4] in _BEGINNINGS


class Values(Protocol):
    """What expressions of one program may be, as far as it is asked here."""

    def value(self, expr: ast.expr, scope: Scope) -> list[Origin]: ...

    def definitions(self, expr: ast.expr, scope: Scope) -> list[Scope]: ...

    @property
    def registries(self) -> Registries: ...


class Choices(NamedTuple):
    """Answers for one program."""

    names: Names
    values: Values

    def of(self, call: ast.Call, scope: Scope) -> Chosen | None:
        """What a call chooses, if it does."""
        kept: Sequence[Scope | str] = []
        match call:
            case ast.Call(func=ast.Name(id="getattr"), args=[held, name, *_]):
                kept = self._members(held, name, scope)
                return Chosen(kept, is_called=False) if kept else None
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
                kept = self.kept_under(table, key, scope) or self._written_under(table, key, scope)
            case ast.Call(func=ast.Attribute(value=table, attr=name)) if name.startswith(_MAKES):
                kept = self.kept_under(table, self._name_in(call, scope), scope)
            case ast.Call(func=function, args=[_, *rest]) if last_name(function).startswith(_MAKES):
                given = [*rest, *(k.value for k in call.keywords)]
                tables = [
                    v for v in given if isinstance(v, ast.Name | ast.Attribute) and self.values.registries.of(v, scope)
                ]
                kept = self.kept_under(tables[0], self._name_in(call, scope), scope) if len(tables) == 1 else []
        return Chosen(kept, is_called=last_name(call.func) != "get") if kept else None

    def kept_under(self, table: ast.expr, key: ast.expr | None, scope: Scope) -> Sequence[Scope | str]:
        """What a table of functions or classes has under a key: the one, or all where the key is not known."""
        match table:
            case ast.Call(func=ast.Name(id="vars"), args=[held]) | ast.Attribute(value=held, attr="__dict__"):
                return self._members(held, key, scope) if key is not None else []
            case ast.Call(func=ast.Name(id="globals"), args=[]):
                return self._members_of([scope.facts.scope], key, scope) if key is not None else []
        known, names = self.values.registries.of(table, scope), []
        if known and key is not None:
            names = [o.value for o in self.values.value(key, scope) if isinstance(o, Constant)]
        kept = dict.fromkeys(e.target for e in known if not names or e.name is None or e.name in names)
        return list(kept) if len(kept) <= MAX_CHOSEN else []

    def listed(self, loop: Binding, scope: Scope) -> list[Scope]:
        """The project's classes that a loop goes through, `for name, found in vars(module).items()`, of which it looks
        for one: those that are derived from a class that it asks about, where it does."""
        match loop.value, loop.path:
            case (
                ast.Call(
                    func=ast.Attribute(
                        attr="items",
                        value=ast.Attribute(attr="__dict__", value=held) | ast.Call(func=ast.Name("vars"), args=[held]),
                    )
                ),
                (1,),
            ):
                modules = [o.target for o in self.values.value(held, scope) if isinstance(o, Reference)]
            case _:
                return []
        scopes = [module for module in modules if isinstance(module, Scope) and module.kind == "module"]
        found = [c for module in scopes for c in module.children.values() if c.kind == "class"]
        asked = self._asked_about(loop, scope)
        if asked:
            found = [owner for owner in found if not asked.isdisjoint(self.names.bases(owner)[1:])]
        return found if len(found) <= MAX_LISTED else []

    def _asked_about(self, loop: Binding, scope: Scope) -> set[str | Scope]:
        """The classes `Base` of `issubclass(found, Base)`."""
        target = getattr(loop.node, "target", loop.node)  # of a comprehension, what it binds
        names = {part.id for part in walk(target) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        calls = (call for call, where in scope.facts.calls.get("issubclass", ()) if where is scope)
        bases = [c.args[1] for c in calls if len(c.args) == 2 and getattr(c.args[0], "id", "") in names]
        found = (self.names.resolve(base, scope) for base in bases)
        return {base for base in found if isinstance(base, str | Scope)}

    def asserted(self, name: str, scope: Scope) -> tuple[Scope, ast.Call] | None:
        """The class that a function makes sure that a name is, or is derived from, and the call that says so:
        `assert issubclass(trainer, Trainer)`."""
        call = _assertions(scope.facts).get((scope, name)) if "issubclass" in scope.facts.calls else None
        target = self.names.resolve(call.args[1], scope) if call is not None else None
        is_class = isinstance(target, Scope) and target.kind == "class"
        return (target, call) if is_class else None  # type: ignore[return-value]

    def _members(self, held: ast.expr, name: ast.expr, scope: Scope) -> list[Scope | str]:
        found = [o.target for o in self.values.value(held, scope) if isinstance(o, Reference)]
        modules = [target for target in found if isinstance(target, Scope) and target.kind == "module"]
        return self._members_of(modules, name, scope) if len(modules) == len(found) <= MAX_LISTED else []

    def _members_of(self, modules: Sequence[Scope], name: ast.expr, scope: Scope) -> list[Scope | str]:
        """The functions and classes of modules that have one of the names that an expression may be; where the name is
        not known, their classes."""
        said = [o.value for o in self.values.value(name, scope) if isinstance(o, Constant)]
        names = [each for each in said if isinstance(each, str)]
        if not names:
            return self._classes_of(modules)
        found = (self.names.members(module, (each,)) for module in modules for each in names)
        return list(dict.fromkeys(target for target in found if isinstance(target, Scope | str)))

    def _classes_of(self, modules: Sequence[Scope]) -> list[Scope | str]:
        """The project's classes in modules, without those that others are derived from; none where they have many."""
        if any(module.facts.star_imports or len(module.bindings) > MAX_NAMES for module in modules):
            return []
        found = [self.names.members(module, (name,)) for module in modules for name in module.bindings]
        classes = dict.fromkeys(f for f in found if isinstance(f, Scope) and f.kind == "class")
        bases = {base for owner in classes for base in self.names.bases(owner)[1:]}
        chosen = [owner for owner in classes if owner not in bases]
        return list(chosen) if len(chosen) <= MAX_CHOSEN else []

    def _written_under(self, table: ast.expr, key: ast.expr, scope: Scope) -> list[Scope | str]:
        """What `{"a": A, "b": B}.get(key)` gives, of functions and classes alone."""
        held = [o for o in self.values.value(table, scope) if isinstance(o, Display) and not is_configured(o)]
        items = [(item, o.scope) for o in held for item in display_items(o, key)]
        kept = [target for item in items for target in self.values.definitions(*item)]
        return list(kept) if len(kept) == len(items) <= MAX_CHOSEN else []

    def _name_in(self, call: ast.Call, scope: Scope) -> ast.expr | None:
        """What says which one is made: the first argument, or what stands in it as the type."""
        first = call.args[0] if call.args else None
        for origin in self.values.value(first, scope) if first is not None else ():
            for key in _NAMING:
                item = display_item(origin, ast.Constant(key)) if isinstance(origin, Display) else None
                if isinstance(item, ast.Constant):
                    return item
        return first


@remembered_in_file
def _assertions(facts: ModuleFacts) -> dict[tuple[Scope, str], ast.Call]:
    """`assert issubclass(trainer, Trainer)`, the first of each name in a function."""
    found: dict[tuple[Scope, str], ast.Call] = {}
    for call, scope in facts.calls.get("issubclass", ()):
        match call.args, facts.parents[call]:
            case [ast.Name(id=name), _], ast.Assert(test=test) if test is call:
                found.setdefault((scope, name), call)
    return found
