"""Items taken by their place, or handed to methods and functions: what the order of `order` decides there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Scope
from torchrepro_lint.loading import order_loops
from torchrepro_lint.loading.decisions import Decision, Holder
from torchrepro_lint.loading.loops import names_a_file
from torchrepro_lint.loading.singles import is_shared, is_single, unwrapped

if TYPE_CHECKING:
    from torchrepro_lint.loading.order import Order

_COUNTING = frozenset({"range", "count"})
_SAVED = "is saved"


def indexed(order: Order, parent: ast.Subscript, scope: Scope, holder: Holder) -> Decision | None:
    """`items[...]`."""
    if holder == "lists":
        return order.follow(Site(parent, scope), "sequence")
    if holder in ("mapping", "record") or not isinstance(parent.ctx, ast.Load):
        return None
    match parent.slice:
        case ast.Slice(lower=None, upper=None, step=None):
            return order.follow(Site(parent, scope), holder)
        case ast.Slice():
            return Decision(scope.facts, parent, "decides what is in which part")
        case ast.Constant(value=str()) | ast.Tuple():
            return None
        case ast.Constant() | ast.UnaryOp():
            if is_single(parent.value, scope) or is_shared(parent, scope.facts) or _is_complaint(parent, scope):
                return None
            return Decision(scope.facts, parent, "decides which item is taken")
    return Decision(scope.facts, parent, "decides which item an index means")


def _is_complaint(node: ast.expr, scope: Scope) -> bool:
    """Whether an item is named in an error message only."""
    return isinstance(scope.facts.statement(node), ast.Raise | ast.Assert)


def method(order: Order, parent: ast.Attribute, scope: Scope, holder: Holder) -> Decision | None:
    """`items.something`."""
    call = scope.facts.parents[parent]
    if parent.attr == "iloc" and isinstance(call, ast.Subscript):
        return Decision(scope.facts, call, "decides which item an index means")
    if not (isinstance(call, ast.Call) and call.func is parent):
        return None
    if parent.attr == "copy":
        return order.follow(Site(call, scope), holder)
    if holder == "record":
        return None
    if holder == "mapping":
        views = parent.attr in ("items", "keys", "values")
        return order.follow(Site(call, scope), "sequence") if views else None
    if holder == "lists":
        return _each_list(order, call, parent.attr, scope)
    if parent.attr in order.table["keeps_methods"]:
        return order.follow(Site(call, scope), holder)
    if parent.attr == "index":
        return Decision(scope.facts, call, "decides the numbering")
    if parent.attr in ("pop", "popleft") and not is_single(parent.value, scope):
        emptied = _emptied_by(parent, scope)
        if emptied is not None:
            return order_loops.rounds(order, emptied, scope)
        return Decision(scope.facts, call, "decides which item is taken")
    return None


def _emptied_by(taken: ast.Attribute, scope: Scope) -> ast.While | None:
    """The loop that takes all items one by one: `while items: items.pop()`."""
    text = ast.unparse(taken.value)
    for parent in scope.facts.ancestors(taken):
        if isinstance(parent, ast.While) and any(ast.unparse(n) == text for n in ast.walk(parent.test)):
            return parent
    return None


def _each_list(order: Order, call: ast.Call, name: str, scope: Scope) -> Decision | None:
    """`for key, items in lists.items():`, where each `items` is such a list."""
    parent = scope.facts.parents[call]
    if not isinstance(parent, ast.For | ast.comprehension) or parent.iter is not call:
        return None
    target = parent.target
    if name == "items" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    elif name != "values":
        return None
    if isinstance(parent, ast.For):
        return order.stored(target, parent, scope, "sequence")
    inner = scope.facts.scope_of(target)
    return order.follow_all(order.uses.of_name(target.id, inner), "sequence") if isinstance(target, ast.Name) else None


# -- arguments ---------------------------------------------------------------------------------------------------
def sorts(call: ast.Call) -> bool:
    """Whether a call sorts, by its name: `sorted`, `natsorted`, `sort_by_number`."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return "sort" in last.lower() and last != "argsort"


def passed(order: Order, site: Site, call: ast.AST, holder: Holder) -> Decision | None:
    """The items are an argument of `call`."""
    if not isinstance(call, ast.Call):
        return None
    scope, function = site.scope, call.func
    name = order.program.qualified(function, scope) or ""
    if name in order.table["free"] or sorts(call):
        return None
    if name == "builtins.dict":
        if any(k.value is site.node for k in call.keywords):
            return order.follow(Site(call, scope), "record") if holder == "sequence" else None
        return _made_dict(order, call, scope)
    if holder != "mapping" and name in order.table["texts"]:
        return _written(order, Site(call, scope))
    if name in order.table["keeps"] or name.rpartition(".")[2].startswith("tqdm"):
        return order.follow(Site(call, scope), "sequence") if holder not in ("lists", "record") else None
    if holder in ("lists", "record") and order.table["decides"].get(name) == _SAVED:
        return _decided(order, name, call, scope)
    if holder == "sequence":
        if name == "builtins.zip":
            return _zipped(order, site, call)
        if name in order.table["decides"]:
            return _decided(order, name, call, scope)
        if isinstance(function, ast.Attribute) and not name:
            found = _passed_to_method(order, site, call, function)
            if found is not None:
                return found
    followed = order.uses.in_callee(call, site.node, scope) or []
    for read in followed:
        order.entered.setdefault(id(read.scope.function), []).append(Site(call, scope))
    return order.follow_all(followed, holder)


def _decided(order: Order, name: str, call: ast.Call, scope: Scope) -> Decision | None:
    """A function that shows the order at once."""
    if name == "builtins.next" and (is_shared(call, scope.facts) or is_single(unwrapped(call.args[0]), scope)):
        return None
    return Decision(scope.facts, call, order.table["decides"][name])


def _passed_to_method(order: Order, site: Site, call: ast.Call, function: ast.Attribute) -> Decision | None:
    """An argument of a method of some object."""
    scope = site.scope
    match function.attr:
        case "extend" | "extendleft":
            return order.stored(function.value, scope.facts.statement(call), scope, "sequence")
        case "map" | "imap" | "starmap" if site.node in call.args[1:]:
            return order.follow(Site(call, scope), "sequence")
        case "writelines" | "writerows":
            return Decision(scope.facts, call, "is the order in which they are written")
        case "join":
            return _written(order, Site(call, scope))
    return None


def _written(order: Order, text: Site) -> Decision | None:
    """A text that has the items in their order, where it is written to a file."""
    facts = text.scope.facts
    outer = facts.parents[text.node]
    while isinstance(outer, ast.BinOp):
        outer = facts.parents[outer]
    if isinstance(outer, ast.Assign):
        read = (s for t in outer.targets for s in order.uses.of_target(t, outer, text.scope))
        return order.first(_written(order, s) for s in read if order.is_new(s.node, "text"))
    match outer:
        case ast.Call(func=ast.Attribute(value=handle, attr=name)) if _is_written(name, handle):
            return Decision(facts, outer, "is the order in which they are written")
    return None


def _is_written(method: str, handle: ast.expr) -> bool:
    """Whether `handle.method(...)` writes a file."""
    if method != "write":
        return method == "write_text"
    return names_a_file(handle) or (isinstance(handle, ast.Call) and ast.unparse(handle.func).endswith("open"))


def _made_dict(order: Order, call: ast.Call, scope: Scope) -> Decision | None:
    """`dict(items)`, where the items may be pairs with their numbers."""
    match call.args:
        case [ast.Call(func=ast.Name(id=name), args=paired)] if name == "enumerate" or any(map(_counts, paired)):
            return Decision(scope.facts, call, "decides the numbering")
    return order.follow(Site(call, scope), "mapping")


def _counts(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _COUNTING


def _zipped(order: Order, site: Site, call: ast.Call) -> Decision | None:
    """Two listings are paired by chance; a list made from this one is paired rightly in any order."""
    fixed = {"builtins.sorted", *catalogue.names("order", "listings")}
    others = [o for a in call.args if a is not site.node for o in order.program.origins(a, site.scope)]
    if any(isinstance(o, Result) and o.callee in fixed and o.node is not order.asked for o in others):
        return Decision(site.scope.facts, call, "decides what is paired with what")
    return order.follow(Site(call, site.scope), "sequence")
