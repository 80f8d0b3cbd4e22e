"""The rank of a process: expressions that are one, values made of one, and tests that only the first passes.

Ranks within a tensor-, pipeline- or context-parallel group are left out: these processes work on the same samples.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.intent import branches
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope

MAX_DEPTH = 6
_RANK = re.compile(
    r"^_*(?:(?:global|local|process|node|proc|ddp|dp|dist|distributed|world|my|cur|current|data_parallel)_?)?rank$"
    r"|^process_index$|^(?:proc|process)_id$",
    re.IGNORECASE,
)
_GETTER = re.compile(
    r"^_*(?:get_)?(?:(?:global|local|dist|dp|ddp|process|data_parallel)_)?rank$|^process_index$", re.IGNORECASE
)
_JOINS = re.compile(rb"\binit_process_group\(")
_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK")
_FIRST = re.compile(
    r"^_*(?:is_)?(?:(?:local|global|world|dist)_)?(?:main|master|chief|primary|lead|root|rank_?(?:0|zero))"
    r"(?:_(?:process|proc|rank|node|worker))?$",
    re.IGNORECASE,
)
_ZERO_ONLY = frozenset(
    {"rank_zero_only", "on_main_process", "main_process_only", "master_only", "on_local_main_process"}
)


def _last(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def is_rank(node: ast.expr) -> bool:
    """Whether an expression by itself is a rank: `args.rank`, `dist.get_rank()`, `int(os.environ["RANK"])`."""
    match node:
        case ast.Name() | ast.Attribute():
            return bool(_RANK.search(_last(node)))
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return is_rank(inner)
        case ast.Call(args=[ast.Constant(value=str() as key), *_]) if _last(node.func) in ("get", "getenv"):
            return key in _VARIABLES
        case ast.Call():
            return bool(_GETTER.search(_last(node.func)))
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key in _VARIABLES or bool(_RANK.search(key))
    return False


def has_ranks(program: Program) -> bool:
    """Whether any file of the project joins a group of processes."""
    return program.project.text.any_match(_JOINS) is not False


# -- values ---------------------------------------------------------------------------------------------------
def rank_in(expr: ast.expr, scope: Scope, program: Program, depth: int = 0) -> ast.expr | None:
    """The rank that the value of `expr` is made of, as in `args.seed + rank`; names are followed."""
    if is_rank(expr):
        return expr
    if depth > MAX_DEPTH:
        return None
    match expr:
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.BitXor() | ast.BitOr(), right=right):
            parts = [Passed(left, scope), Passed(right, scope)]
        case ast.BinOp(left=left, op=ast.Sub() | ast.Mod()) if not is_rank(left):
            parts = [Passed(left, scope)]  # what is taken off again, and groups of ranks, are no rank
        case ast.Call(func=ast.Name(id="int" | "abs")):
            parts = [Passed(a, scope) for a in expr.args]
        case ast.Name():
            parts = list(_values(expr, scope, program))
        case ast.Attribute():
            parts = [Passed(v, scope) for v in _set_before(expr, scope)]
        case _:
            return None
    found = (rank_in(part.node, part.scope, program, depth + 1) for part in parts)
    return next((rank for rank in found if rank is not None), None)


class Passed:
    """An expression and where it is evaluated."""

    __slots__ = ("node", "scope")

    def __init__(self, node: ast.expr, scope: Scope) -> None:
        self.node = node
        self.scope = scope


def _values(name: ast.Name, scope: Scope, program: Program) -> Iterator[Passed]:
    """What a variable or parameter is given; what is added with `+=` counts where it stands before."""
    owner = scope.binding_scope(name.id)
    for binding in owner.bindings[name.id] if owner is not None else ():
        assert owner is not None
        if owner is scope and getattr(binding.node, "lineno", 0) > name.lineno:
            continue
        if binding.kind == "assign" and binding.value is not None:
            yield Passed(binding.value, owner)
        elif isinstance(binding.node, ast.AugAssign):
            yield Passed(binding.node.value, owner)
        elif binding.kind == "parameter" and owner.kind == "function":
            for call, caller in program.callers_of(owner) or ():
                passed = argument_for(call, owner, name.id)
                if isinstance(passed, ast.expr):
                    yield Passed(passed, caller)


def _set_before(expr: ast.Attribute, scope: Scope) -> Iterator[ast.expr]:
    """What the same function assigned to an attribute above."""
    written = ast.dump(expr.value)
    for item in scope.facts.attribute_sets.get(expr.attr, ()):
        if item.scope.function is not scope.function or ast.dump(item.target.value) != written:
            continue
        value = item.statement.value if isinstance(item.statement, ast.AugAssign) else item.value
        if value is not None and item.statement.lineno < expr.lineno:
            yield value


# -- tests ----------------------------------------------------------------------------------------------------
def passes_first_only(test: ast.expr) -> bool | None:
    """True when only the first process passes `test`, False when it alone does not, None for any other test."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            if is_rank(operand):
                return True
            inner = passes_first_only(operand)
            return None if inner is None else not inner
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=0)]) if is_rank(left):
            if isinstance(op, ast.Eq | ast.LtE):
                return True
            return False if isinstance(op, ast.NotEq | ast.Gt) else None
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() as allowed]) if is_rank(left):
            return True if {ast.unparse(e) for e in allowed.elts} <= {"0", "-1"} else None
        case ast.BoolOp(op=ast.And(), values=values):
            return True if any(passes_first_only(v) for v in values) else None
        case ast.BoolOp(op=ast.Or(), values=values):  # `not args.distributed or args.rank == 0`
            first = [passes_first_only(v) or _runs_alone(v) for v in values]
            return True if all(first) and any(passes_first_only(v) for v in values) else None
        case ast.Call(func=ast.Name() | ast.Attribute()):
            return True if _FIRST.search(_last(test.func)) and not test.args else None
        case ast.Name() | ast.Attribute():
            return True if _FIRST.search(_last(test)) else False if is_rank(test) else None
    return None


def _runs_alone(test: ast.expr) -> bool:
    """`not args.distributed`, `world_size == 1`"""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return "dist" in ast.unparse(operand).lower() or "ddp" in ast.unparse(operand).lower()
        case ast.Compare(left=left, ops=[ast.Eq() | ast.LtE()], comparators=[ast.Constant(value=1)]):
            return "world_size" in ast.unparse(left).lower()
    return False


def first_only(node: ast.AST, scope: Scope) -> ast.AST | None:
    """The branch or decorated function that keeps `node` from every process but the first."""
    for owner, taken in branches(scope.facts, node):
        if isinstance(owner, ast.If) and passes_first_only(owner.test) is taken:
            return owner
    function = scope.function.node
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else []
    return function if any(_last(d) in _ZERO_ONLY for d in decorators) else None
