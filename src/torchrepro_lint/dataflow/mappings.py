"""What a dict that is unpacked into a call can hold, where it is filled step by step or is a function's `**kwargs`.

Answers with every entry that it has on any path; None where there may be others. Knows nothing of loaders.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.abstract_values import Display, Origin, Result, entries_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.references import variable_reads
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import FunctionNode, Scope

MAX_DEPTH = 3  # functions that hand their `**kwargs` on


def possible_entries(mapping: ast.expr, scope: Scope, program: Program, depth: int = 0) -> dict[str, Site] | None:
    """What a dict can hold: `{...} if cuda else {}`, what `update` adds to it, the keywords that callers pass."""
    known = known_entries(mapping, scope, program)
    if known is None and isinstance(mapping, ast.Name):
        known = _extra_keywords(mapping, scope, program, depth)
    if known is not None:
        return known
    merged: dict[str, Site] = {}
    for origin in program.origins(mapping, scope):
        entries = entries_of(origin) if isinstance(origin, Display) else _named(origin)
        if entries is None:
            return None
        merged |= entries
    for more, where in _updates(mapping.id, scope) if isinstance(mapping, ast.Name) else []:
        entries = known_entries(more, where, program)
        if entries is None:
            return None
        merged |= entries
    return merged


def _named(origin: Origin) -> dict[str, Site] | None:
    """The entries of `dict(a=1, b=2)`."""
    if not isinstance(origin, Result) or origin.callee != "builtins.dict" or origin.node.args:
        return None
    found = {k.arg: Site(k.value, origin.scope) for k in origin.node.keywords if k.arg}
    return found if len(found) == len(origin.node.keywords) else None


def _updates(name: str, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    """What `name.update(...)` adds, everywhere in the scope that binds the name."""
    found = []
    for call, where in scope.facts.calls.get("update", ()):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_named = isinstance(owner, ast.Name) and owner.id == name
        if is_named and where.binding_scope(name) is scope.binding_scope(name):
            found += [(a, where) for a in call.args]
    return found


# -- `**kwargs` of a function ---------------------------------------------------------------------------------
def _extra_keywords(mapping: ast.Name, scope: Scope, program: Program, depth: int) -> dict[str, Site] | None:
    """What all calls of a function of the project pass beyond its parameters, for the `**kwargs` that it only
    hands on."""
    function = scope.binding_scope(mapping.id)
    if function is None or depth > MAX_DEPTH or not _is_untouched(mapping.id, function, program):
        return None
    found: dict[str, Site] = {}
    calls = program.callers_of(function)
    for call, caller in calls or ():
        for keyword in call.keywords:
            if keyword.arg is not None:
                if keyword.arg not in function.bindings:  # else it is a parameter of its own
                    found[keyword.arg] = Site(keyword.value, caller)
                continue
            more = possible_entries(keyword.value, caller, program, depth + 1)
            if more is None:
                return None
            found |= more
    return found if calls else None


def _is_untouched(name: str, function: Scope, program: Program) -> bool:
    """Whether `name` is the `**kwargs` of a function at the top of a module, which does nothing but unpack it."""
    node, outer = function.node, function.parent
    if not isinstance(node, FunctionNode) or outer is None or outer.kind != "module":
        return False
    if node.args.kwarg is None or node.args.kwarg.arg != name or len(function.bindings[name]) != 1:
        return False
    reads = variable_reads(program, name, function) or []
    holders = [facts.parents.get(read) for read, facts in reads]
    return all(isinstance(holder, ast.keyword) and holder.arg is None for holder in holders)


def known_entries(mapping: ast.expr, scope: Scope, program: Program) -> dict[str, Site] | None:
    """The entries of a dict whose every key is known, later `d["k"] = v` and `d.update(k=v)` included."""
    found = program.origins(mapping, scope)
    if len(found) != 1:
        return None
    made = found[0]
    match made:
        case Display():
            entries = entries_of(made)
        case Result(callee="builtins.dict", node=call) if not call.args:
            named = {k.arg: Site(k.value, made.scope) for k in call.keywords if k.arg}
            entries = named if len(named) == len(call.keywords) else None
        case _:
            return None
    statement = made.scope.facts.parents.get(made.node)
    first = statement.targets[0] if isinstance(statement, ast.Assign) else None
    for name, where in ((first, made.scope), (mapping, scope)):  # what it is called where it is made, and here
        if entries is not None and isinstance(name, ast.Name):
            entries = _with_updates(entries, name.id, where)
    return entries


def _with_updates(entries: dict[str, Site], name: str, scope: Scope) -> dict[str, Site] | None:
    owner = scope.binding_scope(name)
    for key, sets in scope.facts.subscript_sets.items():
        for item in sets:
            target = item.target.value
            if isinstance(target, ast.Name) and target.id == name and item.scope.binding_scope(name) is owner:
                if item.value is None:
                    return None
                entries[key] = Site(item.value, item.scope)
    for call, where in scope.facts.calls.get("update", ()):
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            continue
        if function.value.id == name and where.binding_scope(name) is owner:
            added = _given(call, where)
            if added is None:
                return None
            entries.update(added)
    return entries


def _given(update: ast.Call, scope: Scope) -> dict[str, Site] | None:
    """The entries that `d.update({...}, k=v)` adds; None where they are not written out."""
    written = [entries_of(Display(a, scope)) if isinstance(a, ast.Dict) else None for a in update.args]
    if None in written or any(k.arg is None for k in update.keywords):
        return None
    named = {k.arg: Site(k.value, scope) for k in update.keywords if k.arg}
    return {key: value for entries in written if entries for key, value in entries.items()} | named
