"""The rank of a process: expressions that are one, the domain of values made of one, and tests that only the first
process passes.

Ranks within a tensor-, pipeline- or context-parallel group are left out: these processes work on the same samples.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Domain, Of, Program, remembered
from torchrepro_lint.dataflow.conditions import conditions, written
from torchrepro_lint.dataflow.evaluate import attribute_values
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.project.entries import entries

_NUMBERS = ("builtins.int", "builtins.abs")
_RANK = re.compile(
    r"^_*(?:(?:global|local|process|node|proc|ddp|dp|dist|distributed|world|my|cur|current|data_parallel)_?)?rank$"
    r"|^process_index$|^(?:proc|process)_id$",
    re.IGNORECASE,
)
_GETTER = re.compile(
    r"^_*(?:get_)?(?:(?:global|local|dist|dp|ddp|process|data_parallel)_)?rank$|^process_index$", re.IGNORECASE
)
_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK")
_FIRST = re.compile(
    r"^_*(?:is_)?(?:(?:local|global|world|dist)_)?(?:main|master|chief|primary|lead|root|rank_?(?:0|zero))"
    r"(?:_(?:process|proc|rank|node|worker))?$",
    re.IGNORECASE,
)
_OF_PROCESSES = re.compile(r"dist|ddp|rank|world|parallel|launch|multi|slurm|gpu|process|sampler", re.IGNORECASE)
_ZERO_ONLY = frozenset(
    {"rank_zero_only", "on_main_process", "main_process_only", "master_only", "on_local_main_process"}
)


def is_rank(node: ast.expr) -> bool:
    """Whether an expression by itself is a rank: `args.rank`, `dist.get_rank()`, `int(os.environ["RANK"])`."""
    match node:
        case ast.Name() | ast.Attribute():
            return bool(_RANK.search(last_name(node)))
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return is_rank(inner)
        case ast.Call(args=[ast.Constant(value=str() as key), *_]) if last_name(node.func) in ("get", "getenv"):
            return key in _VARIABLES
        case ast.Call():
            return bool(_GETTER.search(last_name(node.func)))
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key in _VARIABLES or bool(_RANK.search(key))
    return False


@remembered
def has_ranks(facts: ModuleFacts, program: Program) -> bool:
    """Whether any file of the project joins a group of processes; of a program, one that it may run."""
    signs = {row["written"] for row in catalogue.names("distributed", "groups").values()}
    searched = [program.project.text.containing(sign) for sign in sorted(signs)]
    joining = None if None in searched else {path for found in searched for path in found or ()}
    own = facts.source.path
    if joining and entries(facts, program.project) and not program.project.users([own]):
        return not program.project.reachable(own).isdisjoint(joining)
    return joining is None or bool(joining)


@remembered
def is_seeded_by_rank(program: Program) -> bool:
    """Whether any file of the project seeds torch with what differs from rank to rank: `manual_seed(seed + rank)`."""
    paths = program.project.text.containing("manual_seed")
    files = program.loaded(sorted(paths or ()))
    calls = (site for facts in files for site in facts.calls.get("manual_seed", ()))
    seeds = ((call.args[0], scope) for call, scope in calls if call.args)
    return paths is None or any(rank_in(seed, scope, program) is not None for seed, scope in seeds)


def is_chosen_by_ranks(node: ast.AST, scope: Scope) -> bool:
    """Whether a test around `node` asks how many processes there are, or which one this is."""
    around = set(scope.facts.ancestors(node))
    tests = (condition.test for condition in conditions(node, scope) if condition.owner in around)
    return any(_OF_PROCESSES.search(ast.unparse(test)) for test in tests)


# -- values ---------------------------------------------------------------------------------------------------
Rank: TypeAlias = ast.expr | None


@dataclass(frozen=True)
class Ranks(Domain[Rank]):
    """The rank that a value is made of, as in `args.seed + rank`: the first that is found."""

    def join(self, values: Iterable[Rank]) -> Rank:
        return next((rank for rank in values if rank is not None), None)

    def named(self, name: str, found: Rank, expr: ast.AST, scope: Scope) -> Rank:
        return expr if isinstance(expr, ast.expr) and is_rank(expr) else found

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Rank]) -> Rank:
        return call if is_rank(call) else None

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[Rank]) -> Rank:
        return self.join(of(a, scope) for a in call.args) if callee in _NUMBERS else None

    def operator(self, node: ast.AST, scope: Scope, of: Of[Rank]) -> Rank:
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.BitXor() | ast.BitOr(), right=right):
                return self.join(of(part, scope) for part in (left, right))
            case ast.BinOp(left=left, op=ast.Sub() | ast.Mod()) if not is_rank(left):
                return of(left, scope)  # what is taken off again, and groups of ranks, are no rank
            case ast.AugAssign(value=value):
                return of(value, scope)
        return None

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[Rank]) -> Rank:
        return self.join(of(*site) for site in attribute_values(node, scope))


def rank_in(expr: ast.expr, scope: Scope, program: Program) -> Rank:
    """The rank that the value of `expr` is made of."""
    return program.evaluate(expr, scope, Ranks())


# -- tests ----------------------------------------------------------------------------------------------------
def passes_first_only(test: ast.expr, scope: Scope, program: Program) -> bool | None:
    """True when only the first process passes `test`, False when it alone does not, None for any other test."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            if _holds_rank(operand, scope, program):
                return True
            inner = passes_first_only(operand, scope, program)
            return None if inner is None else not inner
        case ast.Compare(left=left, ops=[op], comparators=[right]) if _holds_rank(left, scope, program):
            return _compared(op, right)
        case ast.BoolOp(op=ast.And(), values=values):
            return True if any(passes_first_only(v, scope, program) for v in values) else None
        case ast.BoolOp(op=ast.Or(), values=values):  # `not args.distributed or args.rank == 0`
            first = [passes_first_only(v, scope, program) for v in values]
            alone = all(f or _runs_alone(v) for f, v in zip(first, values, strict=True))
            return True if alone and any(first) else None
        case ast.Call(func=ast.Name() | ast.Attribute()):
            return True if _FIRST.search(last_name(test.func)) and not test.args else None
        case ast.Name() | ast.Attribute() if _FIRST.search(last_name(test)):
            return True
        case ast.Name() | ast.Attribute():
            return False if _holds_rank(test, scope, program) else None
    return None


def _compared(op: ast.cmpop, right: ast.expr) -> bool | None:
    """What a comparison of a rank with a number says."""
    match op, right:
        case ast.Eq() | ast.LtE(), ast.Constant(value=0):
            return True
        case ast.NotEq() | ast.Gt(), ast.Constant(value=0):
            return False
        case ast.In(), ast.Tuple(elts=allowed) | ast.List(elts=allowed):
            return True if {ast.unparse(e) for e in allowed} <= {"0", "-1"} else None
    return None


def _holds_rank(node: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether an expression is a rank by itself, or a variable that holds what a call for one gives."""
    if is_rank(node):
        return True
    made = program.results(node, scope) if isinstance(node, ast.Name) else ()
    return any(is_rank(result.node) and not _is_of_group(result.node) for result in made)


def _is_of_group(call: ast.Call) -> bool:
    """`dist.get_rank(tensor_parallel_group)`"""
    return last_name(call.func) == "get_rank" and bool(call.args or call.keywords)


def _runs_alone(test: ast.expr) -> bool:
    """`not args.distributed`, `world_size == 1`"""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return "dist" in ast.unparse(operand).lower() or "ddp" in ast.unparse(operand).lower()
        case ast.Compare(left=left, ops=[ast.Eq() | ast.LtE()], comparators=[ast.Constant(value=1)]):
            return "world_size" in ast.unparse(left).lower()
    return False


class Guard(NamedTuple):
    """What keeps all processes but the first from a place: a test, or a decorated function; and how it is written."""

    node: ast.AST
    text: str


def first_only(node: ast.AST, scope: Scope, program: Program) -> Guard | None:
    """What keeps `node` from every process but the first."""
    for condition in conditions(node, scope):
        if passes_first_only(condition.test, scope, program) is condition.holds:
            owner = condition.owner
            place = owner if isinstance(owner, ast.stmt | ast.expr) else condition.test
            return Guard(place, written(condition, scope.facts))
    function = scope.function.node
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else []
    if any(last_name(d) in _ZERO_ONLY for d in decorators):
        return Guard(function, ", ".join(f"@{ast.unparse(d)}" for d in decorators))
    return None
