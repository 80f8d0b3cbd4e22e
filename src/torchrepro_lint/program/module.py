"""One file seen as part of the program: the calls that rules ask for, by the external names that they really call.

Knows aliases and subclasses through the program, and nothing of what a rule wants to know of a call.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.calls import Call

if TYPE_CHECKING:
    from torchrepro_lint.program.program import Program


class Module:
    """One file seen as part of the program: what a rule works on."""

    def __init__(self, facts: ModuleFacts, program: Program) -> None:
        self.facts = facts
        self.program = program
        self._calls: dict[frozenset[str], list[Call]] = {}

    def calls(self, names: Collection[str]) -> list[Call]:
        """Calls of any of these external names, alias-resolved and subclass-aware, in source order."""
        key = frozenset(names)
        if key not in self._calls:
            found = [c for last, wanted in catalogue.by_last_part(key).items() for c in self._called(last, wanted)]
            found += self._subclass_calls(key)
            unique = {id(c.node): c for c in found}
            self._calls[key] = sorted(unique.values(), key=lambda c: (c.node.lineno, c.node.col_offset))
        return self._calls[key]

    def _called(self, last: str, wanted: frozenset[str]) -> Iterator[Call]:
        facts = self.facts
        others = self.program.configured.other_spellings(last)
        for spelled in (last, *sorted(facts.aliases.get(last, ())), *others):
            for node, scope in facts.calls.get(spelled, ()):
                name = self.program.callee(node, scope)
                if name in wanted:
                    yield Call(node, scope, name, self.program)

    def _subclass_calls(self, names: frozenset[str]) -> Iterator[Call]:
        """Constructions of project classes derived from `names` that keep the base's constructor, and the
        `super().__init__(...)` calls in those that have their own."""
        for node, scope, owner, bases in self._constructions:
            base = next((b for b in bases if b in names), None)
            if base is not None:
                yield Call(node, scope, base, self.program, subclass=owner)
        for node, scope in self.facts.calls.get("__init__", ()):
            name = (self.program.callee(node, scope) or "").removesuffix(".__init__")
            if name in names and scope.method_class is not None:
                yield Call(node, scope, name, self.program, subclass=scope.method_class)

    @cached_property
    def _constructions(self) -> list[tuple[ast.Call, Scope, Scope, list[str]]]:
        """Calls of project classes that have external bases and no constructor of their own."""
        found: list[tuple[ast.Call, Scope, Scope, list[str]]] = []
        own = self.facts.scope.bindings
        for spelled, sites in self.facts.calls.items():
            local = spelled in own and own[spelled][-1].kind == "class"
            if not local and not (spelled[:1].isupper() and spelled.endswith(catalogue.CLASS_ENDINGS)):
                continue  # an imported class is looked at only when its name says what it is
            for node, scope in sites:
                target = self.program.resolve(node.func, scope)
                if isinstance(target, Scope) and target.kind == "class":
                    bases = self.program.external_bases(target)
                    if bases and self.program.names.class_member(target, "__init__") is None:
                        found.append((node, scope, target, bases))
        return found
