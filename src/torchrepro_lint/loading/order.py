"""Whether the order of a listing's or set's items decides anything: which sample an index means, which file
comes first, how classes are numbered. Follows the items through lists, loops, functions and attributes.

Knows only uses that show an order for certain, by the catalogue's `order` table. What it cannot follow, and
what takes the items in any order (a sum, a lookup, a loop that deletes), decides nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.uses import Uses
from torchrepro_lint.index import Scope
from torchrepro_lint.loading import order_loops, order_taken
from torchrepro_lint.loading.decisions import Decision, Holder
from torchrepro_lint.loading.loops import Loop

MAX_STEPS = 600
DATA = ("data", "sample", "image", "label", "class", "split", "corpus")


class Order:
    """One check's questions. `decided_by` and `decided_in` ask; the other methods are steps of its search."""

    def __init__(self, program: Program, uses: Uses | None = None) -> None:
        self.program = program
        self.uses = uses or Uses(program)
        self.table: Mapping[str, Any] = catalogue.table("order")["functions"]
        self.asked: ast.expr | None = None
        self.entered: dict[int, list[Site]] = {}  # function -> the calls by which the items came into it
        self._seen: set[tuple[int, str]] = set()

    def decided_by(self, node: ast.expr, scope: Scope) -> Decision | None:
        """The first thing that the order of the items of `node` decides."""
        self._begin(node)
        return self.follow(Site(node, scope), "sequence")

    def decided_in(self, loop: Loop, scope: Scope) -> Decision | None:
        """The first thing that the order of a loop's rounds decides."""
        self._begin(loop.iter)
        return order_loops.loop(self, loop, scope)

    def _begin(self, asked: ast.expr) -> None:
        self._seen, self.entered, self.asked = set(), {}, asked

    def is_new(self, node: object, question: str) -> bool:
        """Whether this was not looked at yet; the search ends where it comes round, and after many steps."""
        key = (id(node), question)
        if key in self._seen or len(self._seen) > MAX_STEPS:
            return False
        self._seen.add(key)
        return True

    @staticmethod
    def first(found: Iterable[Decision | None]) -> Decision | None:
        """The first decision among these."""
        return next((d for d in found if d is not None), None)

    def follow_all(self, sites: Iterable[Site], holder: Holder) -> Decision | None:
        """The first decision among those of several expressions with the same items."""
        return self.first(self.follow(s, holder) for s in sites)

    def follow(self, site: Site, holder: Holder) -> Decision | None:
        """What becomes of the items that the expression at `site` holds."""
        node, scope = site
        if not self.is_new(node, holder):
            return None
        parents = scope.facts.parents
        parent = parents[node]
        match parent:
            case ast.Assign(targets=targets):
                return self.first(self.stored(t, parent, scope, holder) for t in targets)
            case ast.AnnAssign(target=target) | ast.AugAssign(op=ast.Add(), target=target):
                return self.stored(target, parent, scope, holder)
            case ast.NamedExpr(target=target):
                return self.stored(target, parent, scope, holder) or self.follow(Site(parent, scope), holder)
            case ast.withitem(optional_vars=ast.expr() as target):
                return self.stored(target, parents[parent], scope, holder)
            case ast.Return() | ast.YieldFrom():
                return self.returned(parent, scope, holder)
            case ast.IfExp(test=test) if test is node:
                return None
            case ast.IfExp() | ast.BoolOp() | ast.Await() | ast.BinOp(op=ast.Add()):
                return self.follow(Site(parent, scope), holder)
            case ast.keyword():
                return order_taken.passed(self, site, parents[parent], holder)
            case ast.Call(func=function) if function is not node:
                return order_taken.passed(self, site, parent, holder)
            case ast.Attribute():
                return order_taken.method(self, parent, scope, holder)
            case ast.Subscript(value=value) if value is node:
                return order_taken.indexed(self, parent, scope, holder)
            case ast.Tuple() | ast.List():
                return self._packed(site, parent, holder)
            case ast.Dict(values=values) if node in values and holder in ("sequence", "record"):
                return self.follow(Site(parent, scope), "record")
            case ast.Starred() if holder != "lists" and isinstance(parents[parent], ast.List | ast.Tuple):
                return self.follow(Site(parents[parent], scope), "sequence")  # type: ignore[arg-type]
            case ast.For() | ast.AsyncFor() if parent.iter is node and holder != "lists":
                return order_loops.loop(self, parent, scope)
            case ast.comprehension() if holder != "lists":
                return order_loops.comprehension(self, parent, scope)
        return None

    # -- names -------------------------------------------------------------------------------------------------
    def stored(self, target: ast.expr, statement: ast.AST, scope: Scope, holder: Holder) -> Decision | None:
        """What becomes of items that are assigned, or added, to `target`."""
        if isinstance(target, ast.Tuple | ast.List):
            alone = len(target.elts) == 1 or holder != "sequence"
            return None if alone else Decision(scope.facts, statement, "decides which item gets which name")
        if isinstance(target, ast.Subscript):
            return self.stored(target.value, statement, scope, "lists") if holder == "sequence" else None
        sites = self.uses.of_target(target, statement, scope)
        if any(self._is_sorted(s) for s in sites):
            return None
        return self.follow_all(sites, holder)

    def _is_sorted(self, site: Site) -> bool:
        """`x.sort()`, `x = sorted(x)` or `x = dict(sorted(x.items()))`: from there on the order is fixed."""
        parents = site.scope.facts.parents
        call = parents[site.node]
        if isinstance(call, ast.Attribute):
            name, call = call.attr, parents[call]
            if name == "sort" or name not in ("items", "keys") or not isinstance(call, ast.Call):
                return name == "sort"
            call = parents[call]
        if not isinstance(call, ast.Call) or not order_taken.sorts(call):
            return False
        statement = site.scope.facts.statement(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        return any(ast.unparse(t) == ast.unparse(site.node) for t in targets)

    # -- results -----------------------------------------------------------------------------------------------
    def returned(self, node: ast.AST, scope: Scope, holder: Holder) -> Decision | None:
        """What callers do with items that a function returns or yields.

        A function of a module about data that nobody calls by its name is called through a table or a
        framework, for its data.
        """
        calls = self.entered.get(id(scope.function)) or self.uses.results(scope.function)
        if not calls and holder == "sequence" and self._gives_data(scope.function):
            return Decision(scope.facts, node, "is the order of the data that it returns")
        return self.follow_all(calls, holder)

    def _gives_data(self, function: Scope) -> bool:
        facts, owner = function.facts, function.parent
        if function.kind != "function" or facts.source.path.stem.startswith("test"):
            return False
        if owner is not None and owner.kind == "class":
            return any("Data" in base for base in self.program.external_bases(owner))
        stem = facts.source.rel.rpartition("/")[0] + "/" + facts.source.path.stem
        return any(word in f"{stem} {function.name}".lower() for word in DATA)

    def _packed(self, site: Site, display: ast.Tuple | ast.List, holder: Holder) -> Decision | None:
        """One item of a tuple: assigned to several names, or returned and unpacked by the callers."""
        facts, scope = site.scope.facts, site.scope
        place = display.elts.index(site.node)
        outer = facts.parents[display]
        if isinstance(outer, ast.Assign):
            return self.first(self._unpacked(t, place, outer, scope, holder) for t in outer.targets)
        if not isinstance(outer, ast.Return):
            return None
        found = []
        for call in self.entered.get(id(scope.function)) or self.uses.results(scope.function):
            caller = call.scope.facts.parents[call.node]
            if isinstance(caller, ast.Assign):
                found += [(t, caller, call.scope) for t in caller.targets]
        return self.first(self._unpacked(t, place, s, where, holder) for t, s, where in found)

    def _unpacked(
        self, target: ast.expr, place: int, statement: ast.AST, scope: Scope, holder: Holder
    ) -> Decision | None:
        if not isinstance(target, ast.Tuple | ast.List) or place >= len(target.elts):
            return None
        if any(isinstance(e, ast.Starred) for e in target.elts):
            return None
        return self.stored(target.elts[place], statement, scope, holder)
