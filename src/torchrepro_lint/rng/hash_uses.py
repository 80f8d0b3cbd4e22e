"""What a hash decides: a bucket, a split, an order. Follows it through arithmetic, variables and results.

A hash that is only compared for equality, shown, kept as a key or returned by `__hash__` decides nothing
that a run would show.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.uses import Uses
from torchrepro_lint.index import Scope

MAX_STEPS = 40
_REDUCING = (ast.Mod, ast.BitAnd, ast.RShift, ast.FloorDiv, ast.Div)
_NUMBERS = frozenset({"builtins.abs", "builtins.int", "builtins.float", "builtins.round", "ctypes.c_size_t"})
_SHOWING = frozenset({"str", "repr", "hex", "format", "print", "debug", "info", "warning", "error", "log"})
_ORDERING = frozenset({"builtins.sorted", "builtins.min", "builtins.max"})
BUCKET, SPLIT, ORDER = "the bucket that it chooses", "the choice that it makes", "the order that it gives"


def decided_by(call: ast.Call, scope: Scope, program: Program) -> str | None:
    """What the result of a hash decides, None when nothing is known."""
    return _Follower(program).follow(Site(call, scope), reduced=False)


class _Follower:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.uses = Uses(program)
        self._seen: set[ast.AST] = set()

    def follow(self, site: Site, *, reduced: bool) -> str | None:
        """What the number at `site` decides; `reduced` when it is a remainder or a fraction by now."""
        node, scope = site
        if node in self._seen or len(self._seen) > MAX_STEPS:
            return None
        self._seen.add(node)
        parent = scope.facts.parents[node]
        match parent:
            case ast.BinOp(op=op, left=left):
                narrowed = isinstance(op, _REDUCING) and (left is node or isinstance(op, ast.BitAnd))
                return self.follow(Site(parent, scope), reduced=reduced or narrowed)
            case ast.UnaryOp():
                return self.follow(Site(parent, scope), reduced=reduced)
            case ast.Compare(ops=ops):
                ordered = any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops)
                return SPLIT if reduced or ordered else None
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                return self._all(self.uses.of_target(target, parent, scope), reduced)
            case ast.Return() if scope.function.name.rpartition(".")[2] != "__hash__":
                return self._all(self.uses.results(scope.function), reduced) or (BUCKET if reduced else None)
            case ast.Lambda(body=body) if body is node:
                return self._key(parent, scope.parent or scope)
            case ast.Call() | ast.keyword():
                return self._passed(parent, site, reduced)
            case ast.FormattedValue() | ast.Return() | ast.Expr():
                return None
        return BUCKET if reduced else None

    def _all(self, sites: list[Site], reduced: bool) -> str | None:
        found = (self.follow(site, reduced=reduced) for site in sites)
        return next((what for what in found if what is not None), None)

    def _key(self, function: ast.Lambda, scope: Scope) -> str | None:
        """`sorted(files, key=lambda f: hash(f))`."""
        keyword = scope.facts.parents[function]
        call = scope.facts.parents.get(keyword)
        if not isinstance(keyword, ast.keyword) or keyword.arg != "key" or not isinstance(call, ast.Call):
            return None
        is_sort = isinstance(call.func, ast.Attribute) and call.func.attr == "sort"
        return ORDER if is_sort or self.program.callee(call, scope) in _ORDERING else None

    def _passed(self, parent: ast.Call | ast.keyword, site: Site, reduced: bool) -> str | None:
        parents = site.scope.facts.parents
        call = parent if isinstance(parent, ast.Call) else parents[parent]
        if not isinstance(call, ast.Call) or call.func is site.node:
            return None
        if self.program.callee(call, site.scope) in _NUMBERS:
            return self.follow(Site(call, site.scope), reduced=reduced)
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        return BUCKET if reduced and name not in _SHOWING else None
