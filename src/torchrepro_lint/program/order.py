"""Whether the order of a listing's or set's items decides anything: which sample an index means, which file comes
first, how classes are numbered. Follows the items through lists, loops, functions and attributes.

Knows only uses that show an order for certain, by the catalogue's `order` table. What it cannot follow, and what
takes the items in any order (a sum, a lookup, a loop that deletes), decides nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.loops import Effect, effects, index_name, nodes
from torchrepro_lint.program.program import Program
from torchrepro_lint.program.rng import draw_of
from torchrepro_lint.program.uses import Site, Uses
from torchrepro_lint.program.values import Result

MAX_STEPS = 600
MAX_DEPTH = 40
# What holds the items: a list or iterator, a dict whose keys are in that order, or a dict of such lists.
Holder: TypeAlias = Literal["sequence", "mapping", "lists"]


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The place where the order decides something, and what: "its order ..."."""

    facts: ModuleFacts
    node: ast.AST
    why: str


class Order:
    """One check's questions; `decided_by` is the whole of it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.uses = Uses(program)
        self._table: Mapping[str, Any] = catalogue.table("order")["functions"]
        self._seen: set[tuple[int, str]] = set()
        self._asked: ast.expr | None = None

    def decided_by(self, node: ast.expr, scope: Scope) -> Decision | None:
        """The first thing that the order of the items of `node` decides."""
        self._seen, self._asked = set(), node
        return self._flow(Site(node, scope), "sequence")

    # -- one step ------------------------------------------------------------------------------------------------
    def _flow(self, site: Site, holder: Holder) -> Decision | None:
        key = (id(site.node), holder)
        if key in self._seen or len(self._seen) > MAX_STEPS:
            return None
        self._seen.add(key)
        node, scope = site
        parent = scope.facts.parents[node]
        match parent:
            case ast.Assign(targets=targets):
                return self._first(self._stored(t, parent, scope, holder) for t in targets)
            case ast.AnnAssign(target=target) | ast.AugAssign(op=ast.Add(), target=target):
                return self._stored(target, parent, scope, holder)
            case ast.NamedExpr(target=target):
                return self._stored(target, parent, scope, holder) or self._flow(Site(parent, scope), holder)
            case ast.Return() | ast.YieldFrom():
                return self._all(self.uses.results(scope.function), holder)
            case ast.IfExp(test=test) if test is node:
                return None
            case ast.IfExp() | ast.BoolOp() | ast.Await() | ast.BinOp(op=ast.Add()):
                return self._flow(Site(parent, scope), holder)
            case ast.withitem(optional_vars=ast.expr() as target):
                return self._stored(target, scope.facts.parents[parent], scope, holder)
            case ast.keyword():
                return self._passed(site, scope.facts.parents[parent], holder)
            case ast.Call(func=function) if function is not node:
                return self._passed(site, parent, holder)
            case ast.Attribute():
                return self._method(parent, scope, holder)
            case ast.Subscript(value=value) if value is node:
                return self._indexed(parent, scope, holder)
            case ast.Tuple() | ast.List():
                return self._packed(site, parent, holder)
            case ast.Starred() if holder != "lists":
                outer = scope.facts.parents[parent]
                return (
                    self._flow(Site(outer, scope), "sequence")
                    if isinstance(outer, ast.List | ast.Tuple)
                    else None
                )
            case ast.For() | ast.AsyncFor() if parent.iter is node and holder != "lists":
                return self.loop(parent, scope)
            case ast.comprehension() if holder != "lists":
                return self._comprehension(parent, scope)
        return None

    @staticmethod
    def _first(found: Iterable[Decision | None]) -> Decision | None:
        return next((d for d in found if d is not None), None)

    def _all(self, sites: Iterable[Site], holder: Holder) -> Decision | None:
        return self._first(self._flow(s, holder) for s in sites)

    # -- names ---------------------------------------------------------------------------------------------------
    def _stored(self, target: ast.expr, statement: ast.AST, scope: Scope, holder: Holder) -> Decision | None:
        if isinstance(target, ast.Tuple | ast.List):
            alone = len(target.elts) == 1
            return None if alone else Decision(scope.facts, statement, "decides which item gets which name")
        sites = self.uses.of_target(target, statement, scope)
        if any(self._is_sorted(s) for s in sites):
            return None
        return self._all(sites, holder)

    def _is_sorted(self, site: Site) -> bool:
        """`x.sort()`, `x = sorted(x)` or `x = dict(sorted(x.items()))`: from there on the order is fixed."""
        parents = site.scope.facts.parents
        call = parents[site.node]
        if isinstance(call, ast.Attribute):
            method, call = call.attr, parents[call]
            if method == "sort" or method not in ("items", "keys") or not isinstance(call, ast.Call):
                return method == "sort"
            call = parents[call]
        if not isinstance(call, ast.Call) or not self._sorts(call, site.scope):
            return False
        statement = site.scope.facts.statement(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        return any(ast.unparse(t) == ast.unparse(site.node) for t in targets)

    def _sorts(self, call: ast.Call, scope: Scope) -> bool:
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        return "sort" in last.lower() and last != "argsort"

    def _packed(self, site: Site, display: ast.Tuple | ast.List, holder: Holder) -> Decision | None:
        """One item of a tuple: assigned to several names, or returned and unpacked by the callers."""
        facts, scope = site.scope.facts, site.scope
        place = display.elts.index(site.node)
        outer = facts.parents[display]
        if isinstance(outer, ast.Assign):
            return self._first(self._unpacked(t, place, outer, scope, holder) for t in outer.targets)
        if not isinstance(outer, ast.Return):
            return None
        found = []
        for call in self.uses.results(scope.function):
            caller = call.scope.facts.parents[call.node]
            if isinstance(caller, ast.Assign):
                found += [(t, caller, call.scope) for t in caller.targets]
        return self._first(self._unpacked(t, place, s, where, holder) for t, s, where in found)

    def _unpacked(
        self, target: ast.expr, place: int, statement: ast.AST, scope: Scope, holder: Holder
    ) -> Decision | None:
        if not isinstance(target, ast.Tuple | ast.List) or place >= len(target.elts):
            return None
        if any(isinstance(e, ast.Starred) for e in target.elts):
            return None
        return self._stored(target.elts[place], statement, scope, holder)

    # -- indexing and methods --------------------------------------------------------------------------------------
    def _indexed(self, parent: ast.Subscript, scope: Scope, holder: Holder) -> Decision | None:
        if holder == "lists":
            return self._flow(Site(parent, scope), "sequence")
        if holder == "mapping" or not isinstance(parent.ctx, ast.Load):
            return None
        match parent.slice:
            case ast.Slice(lower=None, upper=None, step=None):
                return self._flow(Site(parent, scope), holder)
            case ast.Slice():
                return Decision(scope.facts, parent, "decides what is in which part")
            case ast.Constant(value=str()) | ast.Tuple():
                return None
            case ast.Constant() | ast.UnaryOp():
                if self._is_single(parent.value, scope) or _is_common(parent, scope.facts):
                    return None
                return Decision(scope.facts, parent, "decides which item is taken")
        return Decision(scope.facts, parent, "decides which item an index means")

    def _is_single(self, value: ast.expr, scope: Scope) -> bool:
        """Whether the function makes sure that there is one item only: `assert len(found) == 1`."""
        text = ast.unparse(value)
        around = set(scope.facts.ancestors(value))
        for node in ast.walk(scope.function.node):
            if isinstance(node, ast.Assert | ast.If) and _counts_one(node.test, text):
                leaves = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue)
                if isinstance(node, ast.Assert) or leaves or node in around:
                    return True
        return False

    def _method(self, parent: ast.Attribute, scope: Scope, holder: Holder) -> Decision | None:
        call = scope.facts.parents[parent]
        if parent.attr == "iloc" and isinstance(call, ast.Subscript):
            return Decision(scope.facts, call, "decides which item an index means")
        if not (isinstance(call, ast.Call) and call.func is parent):
            return None
        if holder != "sequence":
            if parent.attr in ("items", "keys", "values"):
                return self._flow(Site(call, scope), "sequence")
            return self._flow(Site(call, scope), holder) if parent.attr == "copy" else None
        if parent.attr in self._table["keeps_methods"]:
            return self._flow(Site(call, scope), holder)
        if parent.attr in ("pop", "popleft", "index", "__getitem__") and not self._is_single(parent.value, scope):
            return Decision(scope.facts, call, "decides which item is taken")
        return None

    # -- arguments -------------------------------------------------------------------------------------------------
    def _passed(self, site: Site, call: ast.AST, holder: Holder) -> Decision | None:
        if not isinstance(call, ast.Call):
            return None
        scope, function = site.scope, call.func
        name = self.program.qualified(function, scope)
        if name in self._table["free"] or self._sorts(call, scope):
            return None
        if name == "builtins.dict":
            return self._made_dict(call, scope)
        if name == "builtins.zip" and holder == "sequence":
            return self._zipped(site, call)
        if name is not None and (name in self._table["keeps"] or name.rpartition(".")[2].startswith("tqdm")):
            return self._flow(Site(call, scope), "sequence") if holder != "lists" else None
        if name in self._table["decides"] and holder == "sequence":
            if name == "builtins.next" and (_is_common(call, scope.facts) or self._is_single(_iterated(call), scope)):
                return None
            return Decision(scope.facts, call, self._table["decides"][name])
        if isinstance(function, ast.Attribute) and name is None:
            found = self._passed_to_method(site, call, function, holder)
            if found is not None:
                return found
        followed = self.uses.in_callee(call, site.node, scope)
        return self._all(followed, holder) if followed is not None else None

    def _passed_to_method(
        self, site: Site, call: ast.Call, function: ast.Attribute, holder: Holder
    ) -> Decision | None:
        scope = site.scope
        if function.attr in ("extend", "extendleft") and holder == "sequence":
            return self._stored(function.value, scope.facts.statement(call), scope, holder)
        if (
            function.attr in ("map", "imap", "starmap")
            and holder == "sequence"
            and site.node in call.args[1:]
        ):
            return self._flow(Site(call, scope), holder)
        if function.attr in ("writelines", "writerows") and holder == "sequence":
            return Decision(scope.facts, call, "is the order in which they are written")
        if function.attr == "join" and isinstance(scope.facts.parents[call], ast.Call):
            outer = scope.facts.parents[call]
            if (
                isinstance(outer, ast.Call)
                and isinstance(outer.func, ast.Attribute)
                and outer.func.attr == "write"
            ):
                return Decision(scope.facts, outer, "is the order in which they are written")
        return None

    def _made_dict(self, call: ast.Call, scope: Scope) -> Decision | None:
        pairs = call.args[0] if call.args else None
        if isinstance(pairs, ast.Call) and isinstance(pairs.func, ast.Name):
            counted = [
                a
                for a in pairs.args
                if isinstance(a, ast.Call) and getattr(a.func, "id", "") in ("range", "count")
            ]
            if pairs.func.id == "enumerate" or counted:
                return Decision(scope.facts, call, "decides the numbering")
        return self._flow(Site(call, scope), "mapping")

    def _zipped(self, site: Site, call: ast.Call) -> Decision | None:
        """Two listings are paired by chance; a list made from this one is paired rightly in any order."""
        for other in call.args:
            if other is not site.node and self._is_other_order(other, site.scope):
                return Decision(site.scope.facts, call, "decides what is paired with what")
        return self._flow(Site(call, site.scope), "sequence")

    def _is_other_order(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a list is sorted, or a listing of its own."""
        found = [o for o in self.program.origins(node, scope) if isinstance(o, Result) and o.node is not self._asked]
        listings = catalogue.names("order", "listings")
        return any(o.callee == "builtins.sorted" or o.callee in listings for o in found)

    # -- loops -----------------------------------------------------------------------------------------------------
    def _comprehension(self, generator: ast.comprehension, scope: Scope) -> Decision | None:
        facts = scope.facts
        owner = facts.parents[generator]
        assert isinstance(owner, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        elements = [owner.key, owner.value] if isinstance(owner, ast.DictComp) else [owner.elt]
        drawn = self._drawn(elements, facts)
        if drawn is not None or isinstance(owner, ast.SetComp):
            return drawn
        index = index_name(generator.target, generator.iter)
        if not isinstance(owner, ast.DictComp):
            return self._flow(Site(owner, facts.scope_of(owner)), "sequence")
        if index and any(isinstance(n, ast.Name) and n.id == index for e in elements for n in ast.walk(e)):
            return Decision(facts, owner, "decides the numbering")
        return self._flow(Site(owner, facts.scope_of(owner)), "mapping")

    def _drawn(self, body: list[ast.expr] | list[ast.stmt], facts: ModuleFacts) -> Decision | None:
        """A random number that is drawn for each item in turn."""
        for node in nodes(body):
            if isinstance(node, ast.Call) and self._draws(node, facts):
                return Decision(facts, node, "decides which item gets which random number")
        return None

    def _draws(self, call: ast.Call, facts: ModuleFacts) -> bool:
        scope = facts.scope_of(call)
        name = self.program.qualified(call.func, scope)
        draw = draw_of(self.program, name, call, scope) if name else None
        return draw is not None and draw.kind == "sample"

    def loop(self, loop: ast.For | ast.AsyncFor, scope: Scope) -> Decision | None:
        """What the order of a loop's rounds decides."""
        drawn = self._drawn(loop.body, scope.facts)
        return drawn or self._first(self._effect(e, loop, scope) for e in effects(scope.facts, loop))

    def _effect(self, effect: Effect, loop: ast.For | ast.AsyncFor, scope: Scope) -> Decision | None:
        facts = scope.facts
        match effect.kind:
            case "decides":
                return Decision(facts, effect.node, effect.why)
            case "sequence" | "mapping" | "lists" if effect.target is not None:
                return self._stored(
                    effect.target, facts.statement(effect.node), facts.scope_of(effect.node), effect.kind
                )
            case "last" if effect.target is not None:
                return self._kept(effect, loop, scope)
            case "yield":
                return self._yielded(effect.node, scope)
            case "call" if isinstance(effect.node, ast.Call):
                return self._called(effect.node, scope)
        return None

    def _kept(self, effect: Effect, loop: ast.For | ast.AsyncFor, scope: Scope) -> Decision | None:
        """A name that still has the value of the last round when it is read below the loop."""
        assert isinstance(effect.target, ast.Name)
        owner = scope.facts.scope_of(effect.node).binding_scope(effect.target.id)
        if owner is None or owner.function is not scope.function:
            return None
        last = (loop.end_lineno or 0, loop.end_col_offset or 0)
        for site in self.uses.of_name(effect.target.id, owner, effect.node):
            inside = site.scope.function is not owner.function
            if not inside and (site.node.lineno, site.node.col_offset) >= last:
                return Decision(scope.facts, effect.node, "decides which item is kept")
        return None

    def _yielded(self, node: ast.AST, scope: Scope) -> Decision | None:
        function = scope.function
        owner = function.parent
        if function.name.endswith("__iter__") and owner is not None and owner.kind == "class":
            if any("Data" in base for base in self.program.external_bases(owner)):
                return Decision(scope.facts, node, "is the order of the samples")
        return self._all(self.uses.results(function), "sequence")

    def _called(self, call: ast.Call, scope: Scope) -> Decision | None:
        """A function of the project that the loop calls may fill something that outlives it."""
        where = scope.facts.scope_of(call)
        callees = self.program.values.callees(call, where)
        callee = callees[0] if len(callees) == 1 else None
        if not isinstance(callee, Scope) or callee.kind != "function":
            return None
        if (key := (id(callee), "called")) in self._seen:
            return None
        self._seen.add(key)
        assert isinstance(callee.node, ast.FunctionDef | ast.AsyncFunctionDef)
        for effect in effects(callee.facts, callee.node):
            if effect.target is None or effect.kind not in ("sequence", "mapping", "lists"):
                continue
            inner = callee.facts.scope_of(effect.node)
            if isinstance(effect.target, ast.Name) and inner.binding_scope(effect.target.id) is callee:
                continue
            found = self._stored(effect.target, callee.facts.statement(effect.node), inner, effect.kind)
            if found is not None:
                return found
        return None


def _is_common(node: ast.expr, facts: ModuleFacts) -> bool:
    """Whether only what all items share is taken from one of them: that there is one, its folder, its suffix."""
    for _ in range(3):
        parent = facts.parents[node]
        match parent:
            case ast.Compare(comparators=[ast.Constant(value=None)]) | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Attribute(attr="parent" | "parents" | "suffix" | "shape" | "dtype" | "ndim"):
                return True
            case ast.Call(func=ast.Attribute(attr="dirname")) | ast.Call(func=ast.Name(id="dirname" | "bool")):
                return True
            case ast.Call():
                node = parent
            case _:
                return False
    return False


def _counts_one(test: ast.expr, text: str) -> bool:
    """Whether a test compares `len(text)` with 1."""
    for part in ast.walk(test):
        match part:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[counted]), comparators=[ast.Constant(value=1)]
            ) if ast.unparse(counted) == text:
                return True
    return False


def _iterated(call: ast.Call) -> ast.expr:
    """`x` of `next(iter(x))`."""
    first = call.args[0]
    is_iter = isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "iter"
    return first.args[0] if is_iter and isinstance(first, ast.Call) and first.args else first
