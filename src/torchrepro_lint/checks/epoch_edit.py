"""How a fix tells a sampler the epoch: a `set_epoch` at the top of the loop, guarded as the sampler is."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from itertools import islice

from torchrepro_lint.dataflow import Call, Program
from torchrepro_lint.dataflow.abstract_values import Display, Unknown
from torchrepro_lint.dataflow.conditions import PathCondition, conditions, is_dead, written
from torchrepro_lint.index import ModuleFacts, Scope, walk
from torchrepro_lint.loading.epochs import EpochLoop
from torchrepro_lint.loading.sampler_uses import Holder, SamplerUses
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax import import_from, insert_first


def set_epoch(program: Program, call: Call, uses: SamplerUses, loop: EpochLoop) -> tuple[Edit, ...]:
    """The edits, or none where the sampler or the number of the epoch has no name in the loop."""
    if not loop.sure:
        return ()
    held = [(e, h) for h in uses.holders if (e := _expression(program, h, loop)) is not None]
    if loop.variable is None or not held:
        return ()
    expression, holder = min(held, key=lambda pair: len(pair[1].chain))
    line = f"{expression}.set_epoch({loop.variable})"
    facts = loop.scope.facts
    if not _conditional(program, call, holder, loop):
        return (insert_first(facts, loop.node, line),)
    body = loop.node.body[0]
    if body.lineno == loop.node.lineno:
        return ()  # a loop on one line has no room for an `if`
    guard, edits = _guard(call, loop, expression)
    if guard.startswith("isinstance(") and not _is_surely_bound(holder, loop):
        return ()
    indent = _indent(facts, body)[len(_indent(facts, loop.node)) :]
    return insert_first(facts, loop.node, f"if {guard}:", f"{indent}{line}"), *edits


def _expression(program: Program, holder: Holder, loop: EpochLoop) -> str | None:
    """How the sampler is written in the loop through this holder, if it is in scope there."""
    owner = loop.scope.method_class
    if holder.owner.kind == "class":
        name = _self_name(loop.scope)
        if name is None or owner is None or holder.owner not in program.names.bases(owner):
            return None
        return ".".join((name, holder.name, *holder.chain))
    if loop.scope.binding_scope(holder.name) is not holder.owner:
        return None
    is_own = holder.owner is loop.scope.function
    if not (_bound_before(holder, loop) if is_own else _is_always_bound(holder)) or _may_be_several(holder, program):
        return None
    if holder.chain and _may_be_items(holder, loop, program):
        return None
    return ".".join((holder.name, *holder.chain))


def _self_name(scope: Scope | None) -> str | None:
    while scope is not None and scope.self_name is None:
        scope = scope.parent
    return scope.self_name if scope is not None else None


def _bound_before(holder: Holder, loop: EpochLoop) -> bool:
    return all(getattr(b.node, "end_lineno", 0) < loop.node.lineno for b in holder.owner.bindings.get(holder.name, ()))


def _may_be_several(holder: Holder, program: Program) -> bool:
    """Whether a name is unpacked from an argument of which not all are seen: some caller may pass loaders of two kinds
    of data there, `loaders = (source, target), validation`."""
    made = holder.owner.bindings
    unpacked = [b.value.id for b in made.get(holder.name, ()) if b.path and isinstance(b.value, ast.Name)]
    is_given = any(b.kind == "parameter" for name in unpacked for b in made.get(name, ()))
    return is_given and program.callers_of(holder.owner) is None


def _is_surely_bound(holder: Holder, loop: EpochLoop) -> bool:
    """Whether a name of the function that has the loop is bound on every way to it."""
    made = holder.owner.bindings.get(holder.name, ())
    if holder.owner is not loop.scope.function or any(b.kind == "parameter" for b in made):
        return True
    nodes, facts = {b.node for b in made}, loop.scope.facts
    inner: ast.AST = loop.node
    for outer in facts.ancestors(loop.node):
        for block in (getattr(outer, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and inner in block and _binds(block[: block.index(inner)], nodes):
                return True
        inner = outer
    return False


def _binds(block: Sequence[ast.stmt], nodes: Collection[ast.AST]) -> bool:
    """Whether one of these nodes is run whenever a block is."""
    for statement in block:
        match statement:
            case ast.If(body=body, orelse=orelse):
                if all(_binds(arm, nodes) or _ends(arm) for arm in (body, orelse)):
                    return True
            case ast.With(body=body) | ast.Try(body=body, handlers=[]):
                if _binds(body, nodes):
                    return True
        if statement in nodes:
            return True
    return False


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Raise | ast.Return)


def _may_be_items(holder: Holder, loop: EpochLoop, program: Program) -> bool:
    """Whether a name may hold items in place of a loader, which have no sampler: `loader = [None] * length`."""
    read = loop.scope.facts.reads(loop.node).of_name(holder.name)
    for origin in program.origins(read[0], loop.scope) if read else ():
        match origin:
            case Display() | Unknown(node=ast.BinOp() | ast.ListComp() | ast.GeneratorExp()):
                return True
    return False


def _is_always_bound(holder: Holder) -> bool:
    """Whether a name of the module, or of an enclosing function, gets its value under no test but a main guard's."""
    owner = holder.owner
    tests = ([c.owner for c in conditions(b.node, owner)] for b in owner.bindings.get(holder.name, ()))
    return any(all(test is owner.facts.guard for test in found) for found in tests)


def _conditional(program: Program, call: Call, holder: Holder, loop: EpochLoop) -> bool:
    """Whether what the holder holds may be another sampler, or none."""
    if _conditions(call, loop):
        return True
    bindings = holder.owner.bindings.get(holder.name, [])
    if holder.owner.kind == "class":
        bindings = [b for b, _ in holder.owner.attributes.get(holder.name, ())]
    alive = list(islice((b for b in bindings if not is_dead(b.node, holder.owner)), 2))
    if len(alive) > 1:
        return True
    if alive and alive[0].kind == "parameter":
        return len(program.callers_of(holder.owner) or ()) != 1
    return False


def _conditions(call: Call, loop: EpochLoop) -> list[PathCondition]:
    """One for each test that decides whether the sampler is made, but not whether the loop is reached."""
    common = {c.owner for c in conditions(loop.node, loop.scope)}
    found = {c.owner: c for c in conditions(call.node, call.scope) if not isinstance(c.test, ast.Constant)}
    return [condition for owner, condition in found.items() if owner not in common]


def _guard(call: Call, loop: EpochLoop, expression: str) -> tuple[str, tuple[Edit, ...]]:
    """The program's own condition where it means the same in the loop, else a question about the type."""
    match _conditions(call, loop):
        case [PathCondition(owner=ast.If(test=test) | ast.IfExp(test=test), taken=taken) as condition]:
            if call.scope.function is loop.scope.function and _is_repeatable(test):
                return written(condition._replace(test=test, holds=taken), call.facts), ()
    imported = _class_name(call, loop)
    return f"isinstance({expression}, {imported[0]})", imported[1]


def _is_repeatable(test: ast.expr) -> bool:
    """Whether a test can be asked again, on one line."""
    return test.lineno == test.end_lineno and not any(
        isinstance(n, ast.NamedExpr | ast.Await | ast.Yield) for n in walk(test)
    )


def _class_name(call: Call, loop: EpochLoop) -> tuple[str, tuple[Edit, ...]]:
    """A way to write the sampler's class in the loop's file."""
    scope = loop.scope
    last = call.name.rpartition(".")[2]
    for name in (last, *sorted(scope.facts.aliases.get(last, ()))):
        found = ast.Name(name, ast.Load())
        if call.program.qualified(found, scope) == call.name:
            return name, ()
    module, _, name = call.name.rpartition(".")
    imported = import_from(scope.facts, module, name, scope, loop.node)
    return imported.text, imported.edits


def _indent(facts: ModuleFacts, node: ast.stmt) -> str:
    return facts.source.line(node.lineno)[: facts.range(node).start.column - 1]
