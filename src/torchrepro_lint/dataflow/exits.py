"""Which statements leave the block they stand in: by a return, an exception, the end of a loop's round or of the
program. Reads syntax only, and knows no function of the project that never returns."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchrepro_lint.dataflow.enclosing import BLOCKS, DEFINITIONS
from torchrepro_lint.index import LoopNode, dotted

_EXITS: frozenset[str | None] = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})


def leaves(block: Sequence[ast.stmt], caught: bool) -> bool:
    """Whether a block never runs to its end. `caught` when something around it may go on after an exception."""
    return any(_is_exit(statement, caught) for statement in block)


def _is_exit(statement: ast.stmt, caught: bool) -> bool:
    match statement:
        case ast.Return() | ast.Continue() | ast.Break():
            return True
        case ast.Raise():
            return not caught
        case ast.Expr(value=ast.Call(func=function)):
            return not caught and dotted(function) in _EXITS
        case ast.If(body=body, orelse=orelse):
            return leaves(body, caught) and leaves(orelse, caught)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return leaves(body, caught=True)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
            handled = all(leaves(handler.body, caught) for handler in handlers)
            return leaves(last, caught) or (handled and leaves([*body, *orelse], caught))
        case ast.Match(cases=cases):
            return is_exhaustive(cases) and all(leaves(case.body, caught) for case in cases)
    return False


def ends(block: Sequence[ast.stmt]) -> bool:
    """Whether a block, as the program comes by, ends it: `raise ValueError(name)`, `sys.exit(1)`."""
    return any(isinstance(s, ast.Raise) or (isinstance(s, ast.Expr) and _is_exit(s, caught=False)) for s in block)


def breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether the loop that has this body is left by a `break`."""
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        inner = ("orelse",) if isinstance(statement, LoopNode) else () if isinstance(statement, DEFINITIONS) else BLOCKS
        if any(breaks(getattr(statement, name, ())) for name in inner):
            return True
    return False


def is_exhaustive(cases: Sequence[ast.match_case]) -> bool:
    """Whether one of the cases is always taken."""
    return cases[-1].guard is None and is_irrefutable(cases[-1].pattern)


def is_irrefutable(pattern: ast.pattern) -> bool:
    """Whether every value matches."""
    match pattern:
        case ast.MatchAs(pattern=inner):
            return inner is None or is_irrefutable(inner)
        case ast.MatchOr(patterns=patterns):
            return is_irrefutable(patterns[-1])
    return False
