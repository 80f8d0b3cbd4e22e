"""Functions of a project that seed generators and do nothing else: `set_seed(seed)`. What a function does counts, not
what it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.rng.seed_options import is_seed

_SEEDS: Mapping[str, tuple[str, ...]] = {
    "torch.manual_seed": ("torch",), "torch.random.manual_seed": ("torch",), "numpy.random.seed": ("numpy",),
    "random.seed": ("python",), "torch.cuda.manual_seed": (), "torch.cuda.manual_seed_all": (),
    "torch.mps.manual_seed": (), "torch.xpu.manual_seed": (), "torch.xpu.manual_seed_all": (),
}  # fmt: skip
_BESIDE = ("torch.cuda.is_available", "torch.backends.mps.is_available", "builtins.print", "builtins.str")
# Switches that decide only which kernels run, and what turns nothing on that fails.
_SWITCHES = {"torch.backends.cudnn.deterministic": True, "torch.backends.cudnn.benchmark": False}
_ENVIRONMENT = "PYTHONHASHSEED"


class OwnSeeder(NamedTuple):
    """A function whose first parameter seeds `families`; `has_default` says that it may be left out, `takes_none` that
    it then seeds nothing: `if seed is not None:`."""

    function: Scope
    families: frozenset[str]
    has_default: bool
    takes_none: bool = False


@remembered
def seeders_in(facts: ModuleFacts, program: Program) -> list[OwnSeeder]:
    """Those at the top of a file."""
    functions = (s for s in facts.scope.children.values() if s.kind == "function")
    found = (_seeder(f, program) for f in functions if len(facts.scope.bindings.get(f.name, ())) == 1)
    return [seeder for seeder in found if seeder is not None and seeder.families]


def _seeder(function: Scope, program: Program) -> OwnSeeder | None:
    node = function.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or node.args.vararg or node.args.posonlyargs:
        return None
    names, defaults = [a.arg for a in node.args.args], node.args.defaults
    if not names or len(names) - len(defaults) > 1 or None in node.args.kw_defaults:
        return None
    if len(function.bindings[names[0]]) != 1:
        return None
    families: set[str] = set()
    held = {n: v.value for n, v in zip(names[::-1], defaults[::-1], strict=False) if isinstance(v, ast.Constant)}
    takes_none = any(_is_given(statement, names[0]) for statement in node.body)
    for statement in _run(node, held, names[0]):
        seeded = _seeded(statement, names[0], held, function, program)
        if seeded is None:
            return None
        families |= seeded
    has_default = len(names) == len(defaults)
    if has_default and not is_seed(defaults[0]):
        return None
    return OwnSeeder(function, frozenset(families), has_default, takes_none)


def _is_given(statement: ast.stmt, seed: str) -> bool:
    """`if seed is not None:`, with nothing to do otherwise"""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[value]), orelse=[]):
            return name == seed and isinstance(value, ast.Constant) and value.value is None
    return False


def _run(function: ast.FunctionDef, held: Mapping[str, object], seed: str) -> Iterator[ast.stmt]:
    """The statements that a call runs which gives the seed alone, a number: `if deterministic:` follows its default."""
    for statement in function.body:
        if isinstance(statement, ast.If) and _is_given(statement, seed):
            yield from statement.body
            continue
        match statement:
            case ast.If(test=ast.Name(id=name), body=body, orelse=orelse) if type(held.get(name)) is bool:
                yield from body if held[name] else orelse
            case _:
                yield statement


def _seeded(
    statement: ast.stmt, seed: str, held: Mapping[str, object], function: Scope, program: Program
) -> frozenset[str] | None:
    """What a statement seeds with the parameter, where others hold their defaults; None for one that does anything
    else."""
    nothing: frozenset[str] = frozenset()
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None) | ast.Import() | ast.ImportFrom():
            return nothing
        case ast.Expr(value=ast.Call() as call):
            name = program.callee(call, function)
            if name is None or name not in _SEEDS:
                return nothing if name in _BESIDE else None
            is_given = len(call.args) == 1 and not call.keywords and _is_seed_itself(call.args[0], seed)
            return frozenset(_SEEDS[name]) if is_given else None
        case ast.If(test=ast.Call() as test, body=body, orelse=[]) if program.callee(test, function) in _BESIDE:
            inner = [_seeded(s, seed, held, function, program) for s in body]
            return nothing if None not in inner else None
        case ast.Assign(targets=[ast.Subscript(value=environ, slice=ast.Constant(value=key))]):
            is_hash = program.qualified(environ, function) == "os.environ" and key == _ENVIRONMENT
            return nothing if is_hash else None
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            switch = program.qualified(target, function)
            return nothing if switch in _SWITCHES and _SWITCHES[switch] is _switched(value, held) else None
    return None


def _switched(value: ast.expr, held: Mapping[str, object]) -> object:
    """What a switch is set to: `True`, `fast`, `not fast`."""
    match value:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            return held.get(name)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if name in held:
            return not held[name]
    return None


def _is_seed_itself(given: ast.expr, seed: str) -> bool:
    match given:
        case ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=name)], keywords=[]) | ast.Name(id=name):
            return name == seed
    return False
