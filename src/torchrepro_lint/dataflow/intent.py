"""Whether a place in a program is reached only where determinism was not asked for.

Programs tie their switches to a flag or to the seed: `cudnn.benchmark = not args.deterministic`, or fast
kernels in the `else` of `if args.seed is not None`. Such code already does what a rule would ask of it.
Reads names and branches only; knows nothing of the switches themselves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope

Asked: TypeAlias = "bool | Literal['either'] | None"
"""What the truth of a test says: determinism is asked for, is not, one of both, or nothing about it."""

_FLAG = re.compile(r"determin|reproduc|seed", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:non[-_]?|(?<![a-z])(?:in|un)[-_]?|(?:disable|unset|undo|reset|clear|off)_(?:\w+_)?)determin",
    re.IGNORECASE,
)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
MAX_CALLERS = 2  # how far up the calls a guard is looked for


def asked(test: ast.expr) -> Asked:
    """What `test` being true says about determinism having been asked for."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _inverse(asked(inner))
        case ast.BoolOp(values=values):
            found = [a for a in map(asked, values) if a is not None]
            return next((a for a in (False, "either") if a in found), found[0] if found else None)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(right, ast.Constant):
            return _compared(asked(left), op, right.value)
        case ast.NamedExpr(value=value):
            return asked(value)
    name = _flag_name(test)
    if name is None or not _FLAG.search(name):
        return None
    return _NEGATED.search(name) is None


def _inverse(found: Asked) -> Asked:
    return not found if isinstance(found, bool) else found


def _compared(flag: Asked, op: ast.cmpop, value: object) -> Asked:
    if flag is None:
        return None
    if value is None or isinstance(value, bool):
        same = isinstance(op, ast.Is | ast.Eq) == bool(value)
        return flag if same else _inverse(flag)
    return "either"  # `seed == 0`, `seed < 0`: programs use it both ways


def _flag_name(node: ast.expr) -> str | None:
    """The word that a flag goes by: the last part of a name, a literal key, the function that is asked."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=function):
            return _flag_name(function)
    return None


def mentions_flag(expr: ast.expr) -> bool:
    """Whether a seed or determinism flag takes part in `expr`."""
    return any(_FLAG.search(name) for node in ast.walk(expr)
               if isinstance(node, ast.expr) and (name := _flag_name(node)) is not None)  # fmt: skip


def branches(facts: ModuleFacts, node: ast.AST) -> Iterator[tuple[ast.If | ast.IfExp, bool]]:
    """The conditions that `node` lies under within its function, innermost first, and which way each went."""
    child = node
    for parent in facts.ancestors(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            yield parent, child in body
        child = parent


def requested(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether `node` is reached only where determinism was asked for."""
    return any(asked(owner.test) in ((True, "either") if taken else (False, "either"))
               for owner, taken in branches(facts, node))  # fmt: skip


def unrequested(program: Program, node: ast.AST, scope: Scope, depth: int = 0) -> bool:
    """Whether `node` is reached only where determinism was not asked for, by branches here or at every
    caller."""
    facts = scope.facts
    for owner, taken in branches(facts, node):
        if asked(owner.test) in ((False, "either") if taken else (True, "either")):
            return True
    if _left_before(facts, node):
        return True
    function = scope.function
    if function.kind != "function" or depth >= MAX_CALLERS:
        return False
    calls = program.callers_of(function)
    return bool(calls) and all(unrequested(program, call, caller, depth + 1) for call, caller in calls or ())


def _left_before(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether an earlier `if args.deterministic: ...; return` keeps the other case away from `node`."""
    statement: ast.AST = facts.statement(node)
    while not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        for earlier in block_of(facts, statement):
            if earlier is statement:
                break
            if isinstance(earlier, ast.If) and _leaves(earlier) and asked(earlier.test) in (True, "either"):
                return True
        statement = facts.parents[statement]
    return False


def _leaves(branch: ast.If) -> bool:
    return isinstance(branch.body[-1], _LEAVES) and not branch.orelse


def depends_on(facts: ModuleFacts, node: ast.AST, word: str) -> bool:
    """Whether `node` is reached only where an option is on whose name has `word` in it."""
    return any(taken and (name := _flag_name(owner.test)) is not None and word in name.lower()
               for owner, taken in branches(facts, node))  # fmt: skip


def block_of(facts: ModuleFacts, statement: ast.AST) -> list[ast.stmt]:
    """The list of statements that `statement` stands in."""
    parent = facts.parents[statement]
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return []


def exclusive(facts: ModuleFacts, first: ast.AST, second: ast.AST) -> bool:
    """Whether the two lie in different arms of one `if`: only one of them runs."""
    ways = dict(branches(facts, first))
    return any(ways.get(owner, taken) != taken for owner, taken in branches(facts, second))
