"""Which of a name's bindings a read of it can see, within one function. In doubt, all of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchrepro_lint.dataflow.enclosing import ancestors, arm_of, statement
from torchrepro_lint.index import Binding, Scope

_HEADED = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def reaching(bindings: Sequence[Binding], read: ast.AST, owner: Scope, scope: Scope) -> list[Binding]:
    """The bindings whose value `read` may see: the last one on every way to it, and those that branches add."""
    if len(bindings) == 1 or scope.function is not owner.function:
        return list(bindings)
    here = statement(read, scope)
    chain = [here, *ancestors(here, scope)]
    before = [b for b in bindings if b.kind == "parameter" or _end(b.node) <= _start(here)]
    back = enumerate(reversed(before), start=1)
    sure = next((i for i, b in back if b.kind == "parameter" or _dominates(b.node, chain, owner)), None)
    if sure is None:
        return list(bindings)
    seen = before[-sure:]
    loop = next((a for a in chain[1:] if isinstance(a, _LOOPS)), None)
    if loop is None or seen[0].node is loop or loop in ancestors(seen[0].node, owner):
        return seen
    around = [a for a in chain[1:] if isinstance(a, _LOOPS)]
    later = [b for b in bindings if b not in before and any(a in around for a in ancestors(b.node, owner))]
    return [*seen, *later]


def _dominates(node: ast.AST, chain: Sequence[ast.AST], owner: Scope) -> bool:
    """Whether `node` has run on every way to the read: it stands earlier in a block around it."""
    if isinstance(node, _HEADED):
        return node in chain
    block = next(ancestors(node, owner), None)
    if block is None or block not in chain:
        return False
    arm = arm_of(block, node)
    return any(arm_of(block, item) == arm for item in chain[: chain.index(block)]) if arm is not None else False


def shape_names(read: ast.Name, owner: Scope, scope: Scope) -> int | None:
    """The number of names that the shape of the same value is unpacked into: `b, c, h, w = x.shape`."""
    if scope.function is not owner.function:
        return None
    for binding in (b for bindings in owner.bindings.values() for b in bindings if b.kind == "unpack"):
        subject = _subject(binding.value)
        if not (isinstance(subject, ast.Name) and subject.id == read.id and isinstance(binding.node, ast.Assign)):
            continue
        target = binding.node.targets[0]
        if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
            continue
        mine = reaching(owner.bindings[read.id], read, owner, scope)
        if mine == reaching(owner.bindings[read.id], subject, owner, owner):
            return len(target.elts)
    return None


def _subject(value: ast.expr | None) -> ast.expr | None:
    """`x` in `x.shape` and `x.size()`."""
    match value:
        case ast.Attribute(attr="shape", value=inner) | ast.Call(func=ast.Attribute(attr="size", value=inner), args=[]):
            return inner
    return None


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, (*_HEADED, ast.FunctionDef, ast.ClassDef)):
        return _start(node)
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
