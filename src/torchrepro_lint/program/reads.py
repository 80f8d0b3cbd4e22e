"""Every place that reads a variable or an attribute of a class, in all files that can.

`None` means that there may be others: the project is too large to be searched, or too many files mention the
name. Knows nothing of what the readers do with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.names import Variable
from torchrepro_lint.program.program import Program

MAX_FILES = 40


def variable_reads(program: Program, name: str, owner: Scope) -> list[tuple[ast.expr, ModuleFacts]] | None:
    """The reads of a variable that `owner` binds; those of a module's variable in files that import it,
    too."""
    facts = owner.facts
    found: list[tuple[ast.expr, ModuleFacts]] = [
        (node, facts)
        for node in ast.walk(owner.node)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and facts.scope_of(node).binding_scope(name) is owner
    ]
    if owner.kind != "module":
        return found
    others = _files_with(program, name, facts)
    if others is None:
        return None
    for other in others:
        if other is not facts:
            found += [(node, other) for node in _imported_reads(program, name, owner, other)]
    return found


def _imported_reads(program: Program, name: str, owner: Scope, facts: ModuleFacts) -> Iterator[ast.expr]:
    spelled = {name, *facts.aliases.get(name, ())}
    for node in ast.walk(facts.tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if (node.id if isinstance(node, ast.Name) else node.attr) in spelled:
            target = program.resolve(node, facts.scope_of(node))
            if isinstance(target, Variable) and target.scope is owner:
                yield node


def attribute_reads(program: Program, name: str, owner: Scope) -> list[tuple[ast.expr, ModuleFacts]] | None:
    """The reads of `self.name` in a class and its relatives, and of `obj.name` where `obj` is known to be
    one."""
    files = _files_with(program, name, owner.facts)
    if files is None:
        return None
    return [
        (node, facts)
        for facts in files
        for node in ast.walk(facts.tree)
        if isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Load)
        and _belongs(program, node, facts, owner)
    ]


def _belongs(program: Program, node: ast.Attribute, facts: ModuleFacts, owner: Scope) -> bool:
    scope = facts.scope_of(node)
    if isinstance(node.value, ast.Name) and is_self(node.value.id, scope):
        return _related(program, scope.method_class, owner)
    made = program.instance_of(node.value, scope) or ()
    return any(isinstance(m, Scope) and m.kind == "class" and _related(program, m, owner) for m in made)


def _related(program: Program, one: Scope | None, other: Scope) -> bool:
    if one is None or one is other:
        return one is other
    return other in program.names.bases(one) or one in program.names.bases(other)


def _files_with(program: Program, word: str, own: ModuleFacts) -> list[ModuleFacts] | None:
    paths = program.text.mentioning(word)
    if paths is None or len(paths) > MAX_FILES:
        return None
    here = str(own.source.path)
    loaded = [own if str(p) == here else program.load(str(Path(p))) for p in paths] or [own]
    return [facts for facts in loaded if facts is not None]


def call_sites(program: Program, function: Scope) -> list[tuple[ast.Call, Scope]] | None:
    """The calls of a function, those of a method on an instance that is known included; None when unknown."""
    found = program.callers_of(function)
    if found is None or function.self_name is None or function.name.endswith(".__init__"):
        return found
    name = function.name.rpartition(".")[2]
    files = _files_with(program, name, function.facts)
    known = {id(call) for call, _ in found}
    for facts in files or ():
        for call, scope in facts.calls.get(name, ()):
            method = id(call) not in known and isinstance(call.func, ast.Attribute)
            if method and function in program.values.callees(call, scope):
                found = [*found, (call, scope)]
    return found


def is_self(name: str, scope: Scope) -> bool:
    """Whether `name` is the first parameter of the method around `scope`."""
    owner = scope.binding_scope(name)
    return owner is not None and owner.self_name == name
