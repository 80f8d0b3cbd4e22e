"""Where a value goes next: the other expressions that hold the same object as a given one.

Follows assignments to names and `self` attributes, arguments into parameters, and results to callers. Does not
judge what is done with the value there. What it cannot follow it leaves out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.dataflow.binding import parameter_for
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope


class Uses:
    """Answers for one program."""

    def __init__(self, program: Program) -> None:
        self.program = program

    # -- names and attributes -----------------------------------------------------------------------------------
    def of_name(self, name: str, owner: Scope, since: ast.AST | None = None) -> list[Site]:
        """Where `name`, bound in `owner`, is read; with `since`, only where that statement's value can be meant."""
        facts = owner.facts
        found = []
        for node in facts.reads(owner.node).of_name(name):
            scope = facts.scope_of(node)
            if scope.binding_scope(name) is owner and (since is None or _reaches(since, node, name, owner, scope)):
                found.append(Site(node, scope))
        return found

    def of_attribute(self, owner: Scope, attr: str) -> list[Site]:
        """Where methods of the class, its bases and its subclasses in the same file read `self.attr`."""
        classes = [c for c in self.program.names.bases(owner) if isinstance(c, Scope)]
        classes += [c for c in _classes(owner.facts) if c not in classes and owner in self.program.names.bases(c)]
        found = []
        for facts in {id(c.facts): c.facts for c in classes}.values():
            for node in facts.reads(facts.tree).of_attribute(attr):
                scope = facts.scope_of(node)
                if scope.method_class in classes and scope.is_self(node.value):
                    found.append(Site(node, scope))
        return found

    def of_target(self, target: ast.expr, statement: ast.AST, scope: Scope) -> list[Site]:
        """Where what is assigned to `target` is read."""
        match target:
            case ast.Name(id=name):
                owner = scope.binding_scope(name)
                return self.of_name(name, owner, statement) if owner is not None else []
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                holder = scope.binding_scope(name)
                if holder is not None and holder.self_name == name and holder.parent is not None:
                    return self.of_attribute(holder.parent, attr)
        return []

    def bindings(self, site: Site) -> list[Binding]:
        """All ways in which the name or `self` attribute at `site` gets a value."""
        match site.node:
            case ast.Name(id=name):
                owner = site.scope.binding_scope(name)
                return owner.bindings[name] if owner is not None else []
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                holder = site.scope.binding_scope(name)
                if holder is not None and holder.self_name == name and holder.parent is not None:
                    return [b for b, _ in holder.parent.attributes.get(attr, ())]
        return []

    # -- calls -------------------------------------------------------------------------------------------------
    def results(self, function: Scope) -> list[Site]:
        """The calls of a project function, as expressions."""
        if function.kind != "function":
            return []
        return [Site(call, scope) for call, scope in self.program.callers_of(function) or ()]

    def in_callee(self, call: ast.Call, passed: ast.expr, scope: Scope) -> list[Site] | None:
        """Where a project function or class that is called reads the argument; None for other callees."""
        callees = [c for c in self.program.values.callees(call, scope) if isinstance(c, Scope)]
        if not callees:
            return None
        return [site for callee in callees for site in self._in_one(call, passed, callee)]

    def _in_one(self, call: ast.Call, passed: ast.expr, callee: Scope) -> list[Site]:
        if callee.kind == "class":
            init = self.program.names.class_member(callee, "__init__")
            if not isinstance(init, Scope):
                return self._field(call, passed, callee)
            callee = init
        name = parameter_for(call, passed, callee)
        return self.of_name(name, callee, callee.node) if name is not None else []

    def _field(self, call: ast.Call, passed: ast.expr, owner: Scope) -> list[Site]:
        """A dataclass has no constructor to look into: its fields are what is passed."""
        fields = [n for n, b in owner.bindings.items() if b[0].kind == "assign"]
        body = owner.node.body if isinstance(owner.node, ast.ClassDef) else []
        annotated = [n.target.id for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
        names = annotated or fields
        for keyword in call.keywords:
            if keyword.value is passed and keyword.arg:
                return self.of_attribute(owner, keyword.arg)
        place = next((i for i, a in enumerate(call.args) if a is passed), len(names))
        return self.of_attribute(owner, names[place]) if place < len(names) else []


def _classes(facts: ModuleFacts) -> Iterator[Scope]:
    return (s for s in facts.scope.children.values() if s.kind == "class")


def _reaches(since: ast.AST, load: ast.Name, name: str, owner: Scope, scope: Scope) -> bool:
    """Whether the value bound at `since` can be the one read at `load`: not bound anew on every way in between.

    In another function, or in a loop around both, any order is possible.
    """
    facts = owner.facts
    if scope.function is not owner.function:
        return True
    opens = isinstance(since, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith | FunctionNode)
    start = _end(since)
    if opens and _inside(facts, load, since):
        start = _position(since)
    elif _position(load) < start:  # only a loop leads back
        loops = [a for a in facts.ancestors(since) if isinstance(a, ast.For | ast.While) and _inside(facts, load, a)]
        if not loops:
            return False
        start = _position(loops[0])
    return not any(_kills(facts, b.node, load, start) for b in owner.bindings[name] if b.node is not since)


def _kills(facts: ModuleFacts, other: ast.AST, load: ast.Name, start: tuple[int, int]) -> bool:
    """Whether a binding lies on every way from `start` to the read."""
    if not isinstance(other, ast.Assign | ast.AnnAssign | ast.For):
        return False
    end = _end(other.iter if isinstance(other, ast.For) else other)
    if not (start <= _position(other) and end <= _position(load)):
        return False
    block = facts.parents.get(other)
    return block is not None and _inside(facts, load, block) and not _other_arm(facts, other, load)


def _other_arm(facts: ModuleFacts, binding: ast.AST, load: ast.AST) -> bool:
    """Whether the binding is in one arm of an `if` or `try` and the read in another, or outside."""
    block = facts.parents[binding]
    for name in ("body", "orelse", "finalbody"):
        arm = getattr(block, name, None)
        if isinstance(arm, list) and binding in arm:
            return not any(a in arm for a in (load, *facts.ancestors(load)))
    return False


def _inside(facts: ModuleFacts, node: ast.AST, owner: ast.AST) -> bool:
    return any(a is owner for a in facts.ancestors(node))


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, FunctionNode):
        return _position(node)
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
