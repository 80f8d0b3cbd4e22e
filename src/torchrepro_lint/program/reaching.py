"""Which of a name's bindings a read of it can see, within one function. Reads statements only; in doubt, all of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchrepro_lint.index import Binding, Scope


def reaching(bindings: Sequence[Binding], read: ast.AST, owner: Scope, scope: Scope) -> list[Binding]:
    """The bindings whose value `read` may see: the last one on every way to it, and those that branches add."""
    if len(bindings) == 1 or scope.function is not owner.function:
        return list(bindings)
    facts = owner.facts
    statement = facts.statement(read)
    around = {id(a) for a in facts.ancestors(statement)}
    before = [b for b in bindings if _end(b.node) <= _start(statement) or b.kind == "parameter"]
    sure = [i for i, b in enumerate(before) if b.kind == "parameter" or _dominates(facts.parents.get(b.node), b.node, statement, around, facts)]
    if not sure:
        return list(bindings)
    seen = before[sure[-1] :]
    if _bound_in_own_loop(seen[0], statement, around, facts):
        return seen
    later = [b for b in bindings if b not in before and _same_loop(b.node, statement, facts)]
    return [*seen, *later]


def shape_names(read: ast.Name, owner: Scope, scope: Scope) -> int | None:
    """The number of names that the shape of the same value is unpacked into: `b, c, h, w = x.shape`."""
    if scope.function is not owner.function:
        return None
    facts = owner.facts
    for candidates in owner.bindings.values():
        for binding in candidates:
            if binding.kind != "unpack" or not _is_shape_of(binding.value, read.id):
                continue
            node = binding.node
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
                continue
            assert isinstance(binding.value, ast.expr)
            mine = {id(b) for b in reaching(owner.bindings[read.id], read, owner, scope)}
            then = {id(b) for b in reaching(owner.bindings[read.id], _subject(binding.value), owner, facts.scope_of(node))}
            if mine == then:
                return len(target.elts)
    return None


def _is_shape_of(value: ast.expr | None, name: str) -> bool:
    subject = _subject(value) if value is not None else None
    return isinstance(subject, ast.Name) and subject.id == name


def _subject(value: ast.expr) -> ast.expr:
    match value:
        case ast.Attribute(attr="shape", value=inner):
            return inner
        case ast.Call(func=ast.Attribute(attr="size", value=inner), args=[]):
            return inner
    return value if not isinstance(value, ast.Name) else ast.Constant(None)


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith | ast.FunctionDef | ast.ClassDef):
        return _start(node)
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _dominates(block, node, statement, around, facts) -> bool:  # type: ignore[no-untyped-def]
    """Whether `node` has run on every way to `statement`: it stands earlier in a block around it."""
    if isinstance(node, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith):
        return id(node) in around
    if block is None or (id(block) not in around and block is not facts.parents.get(statement)):
        return False
    return _arm(block, node) == _arm(block, statement, facts)


def _arm(block, node, facts=None):  # type: ignore[no-untyped-def]
    """The name of the list of `block` that `node` stands in, itself or through what holds it."""
    chain = [node] if facts is None else [node, *facts.ancestors(node)]
    for name in ("body", "orelse", "finalbody", "handlers"):
        listed = getattr(block, name, None)
        if isinstance(listed, list) and any(any(c is item for item in listed) for c in chain):
            return name
    return None


def _loop(node, facts):  # type: ignore[no-untyped-def]
    return [a for a in facts.ancestors(node) if isinstance(a, ast.For | ast.AsyncFor | ast.While)]


def _same_loop(node: ast.AST, statement: ast.AST, facts) -> bool:  # type: ignore[no-untyped-def]
    mine = {id(a) for a in _loop(statement, facts)}
    return any(id(a) in mine for a in _loop(node, facts))


def _bound_in_own_loop(first, statement, around, facts) -> bool:  # type: ignore[no-untyped-def]
    """Whether the certain binding stands in the innermost loop around the read: each round binds anew."""
    loops = _loop(statement, facts)
    if not loops:
        return True
    if first.kind == "parameter":
        return False
    return first.node is loops[0] or any(a is loops[0] for a in facts.ancestors(first.node))


__all__ = ["reaching", "shape_names"]
