"""Every place that reads a variable or an attribute of a class, in all files that can.

`None` means that there may be others: the project is too large to be searched, or too many files mention the
name. Knows nothing of what the readers do with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.project.names import Variable

MAX_FILES = 24


def variable_reads(program: Program, name: str, owner: Scope) -> list[tuple[ast.expr, ModuleFacts]] | None:
    """The reads of a variable that `owner` binds; those of a module's variable in files that import it,
    too."""
    facts = owner.facts
    found: list[tuple[ast.expr, ModuleFacts]] = [
        (node, facts)
        for node in facts.reads(owner.node).of_name(name)
        if facts.scope_of(node).binding_scope(name) is owner
    ]
    if owner.kind != "module":
        return found
    others = _files_with(program, name, owner)
    if others is None:
        return None
    for other in others:
        if other is not facts:
            found += [(node, other) for node in _imported_reads(program, name, owner, other)]
    return found


def _imported_reads(program: Program, name: str, owner: Scope, facts: ModuleFacts) -> Iterator[ast.expr]:
    reads = facts.reads(facts.tree)
    for spelled in (name, *sorted(facts.aliases.get(name, ()))):
        for node in (*reads.of_name(spelled), *reads.of_attribute(spelled)):
            target = program.resolve(node, facts.scope_of(node))
            if isinstance(target, Variable) and target.scope is owner:
                yield node


def attribute_reads(program: Program, name: str, owner: Scope) -> list[tuple[ast.expr, ModuleFacts]] | None:
    """The reads of `self.name` in a class and its relatives, and of `obj.name` where `obj` is known to be
    one."""
    files = _files_with(program, name, owner)
    if files is None:
        return None
    return [
        (node, facts)
        for facts in files
        for node in facts.reads(facts.tree).of_attribute(name)
        if _belongs(program, node, facts, owner)
    ]


def _belongs(program: Program, node: ast.Attribute, facts: ModuleFacts, owner: Scope) -> bool:
    scope = facts.scope_of(node)
    if scope.is_self(node.value):
        return _related(program, scope.method_class, owner)
    made = program.instance_of(node.value, scope) or ()
    return any(isinstance(m, Scope) and m.kind == "class" and _related(program, m, owner) for m in made)


def _related(program: Program, one: Scope | None, other: Scope) -> bool:
    if one is None or one is other:
        return one is other
    return other in program.names.bases(one) or one in program.names.bases(other)


def call_sites(program: Program, function: Scope) -> list[tuple[ast.Call, Scope]] | None:
    """The calls of a function, those of a method on an instance that is known included; None when unknown."""
    name = _called_as(function)
    files = _files_with(program, name, function)
    if files is None:
        return None
    return [
        (call, scope)
        for facts in files
        for spelled in (name, *sorted(facts.aliases.get(name, ())))
        for call, scope in facts.calls.get(spelled, ())
        if _calls(program, call, scope, function)
    ]


def _called_as(function: Scope) -> str:
    """The name that calls of a function are written with; a constructor is called by its class's."""
    owner, name = function.parent, function.name.rpartition(".")[2]
    return owner.name.rpartition(".")[2] if name == "__init__" and owner is not None else name


def _calls(program: Program, call: ast.Call, scope: Scope, function: Scope) -> bool:
    target = program.resolve(call.func, scope)
    if target is None and isinstance(call.func, ast.Attribute) and function.self_name is not None:
        return function in program.values.callees(call, scope)
    constructed = function.name.endswith("__init__") and target is function.parent
    return target is function or constructed


def _files_with(program: Program, word: str, owner: Scope) -> list[ModuleFacts] | None:
    """The files that mention `word`, which is defined in `owner`; where those are many, only the ones that
    also mention the class that it belongs to, or import the module."""
    own = owner.facts
    here = Path(own.source.path)
    paths = program.project.text.mentioning(word)
    if paths is not None and len(paths) > MAX_FILES:
        known = _knowing(program, owner, here)
        paths = [p for p in paths if p in known or p == here]
    if paths is None or len(paths) > MAX_FILES:
        return None
    loaded = [own if p == here else program.load(str(p)) for p in paths] or [own]
    return [facts for facts in loaded if facts is not None]


def _knowing(program: Program, owner: Scope, here: Path) -> set[Path]:
    holder = owner if owner.kind == "class" else owner.parent
    if holder is not None and holder.kind == "class":
        return set(program.project.text.mentioning(holder.name.rpartition(".")[2]) or ())
    module = here.parent.name if here.stem == "__init__" else here.stem
    words = (f"{module} import", f"import {module}", f".{module}")
    return {path for word in words for path in program.project.text.containing(word) or ()}
