"""The domain of abstract values: what a value may have come from, and the items of what is written out."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow.domain import Domain, Of, Written
from torchrepro_lint.index import Binding, Scope

MAX_ITEMS = 24  # of a dict whose key is not known
MAX_SETS = 120  # places that set one item or attribute: as many as an evaluation has steps
# Methods of modules and tensors that give back the object itself, moved or switched.
SAME_OBJECT = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "float", "double", "bfloat16",
                         "requires_grad_", "share_memory", "to_empty"})  # fmt: skip
_OF_TEXTS = frozenset({"split", "rsplit", "partition", "rpartition", "join"})
# What gives the items that it is given first.
SAME_ITEMS = frozenset({"builtins.list", "builtins.tuple", "builtins.iter", "builtins.reversed", "builtins.sorted",
                        "tqdm.tqdm", "tqdm.auto.tqdm"})  # fmt: skip


class Constant(NamedTuple):
    """A literal."""

    value: object
    node: ast.expr
    scope: Scope


class Reference(NamedTuple):
    """A function, class or module: external (a dotted name) or the project's own (its scope)."""

    target: str | Scope


class Result(NamedTuple):
    """What a call returned; an instance when `callee` is a class."""

    callee: str | Scope | None
    node: ast.Call
    scope: Scope


class Display(NamedTuple):
    """A tuple, list, set or dict written out; `node` has the items, to be evaluated in `scope`."""

    node: Written
    scope: Scope


class Element(NamedTuple):
    """One item of what is iterated: the loop variable over `iterable`."""

    iterable: ast.expr
    scope: Scope


class Parameter(NamedTuple):
    """A parameter whose callers are not known."""

    name: str
    scope: Scope


def annotation(parameter: Parameter) -> ast.expr | None:
    """What a parameter is annotated with."""
    bindings = parameter.scope.bindings.get(parameter.name, ())
    node = bindings[0].node if len(bindings) == 1 else None
    return node.annotation if isinstance(node, ast.arg) else None


class Unknown(NamedTuple):
    """Anything else; `node` is where the trail was lost."""

    node: ast.AST | None = None
    scope: Scope | None = None


_Item: TypeAlias = "tuple[ast.expr, Scope]"
Origin: TypeAlias = "Constant | Reference | Result | Display | Element | Parameter | Unknown"


def _is_made(result: Result) -> bool:
    """Whether it is known what made an object: a function or class, or a worker of Ray, `Client.remote()`."""
    return result.callee is not None or getattr(result.node.func, "attr", "") == "remote"


class AbstractValues(Domain["list[Origin]"]):
    """The domain of abstract values: the free one, which keeps every end of a way as it is."""

    def join(self, values: Sequence[list[Origin]]) -> list[Origin]:
        return list(dict.fromkeys(o for found in values for o in found))

    def unknown(self, node: ast.AST, scope: Scope) -> list[Origin]:
        return [Unknown(node, scope)]

    def constant(self, value: object, node: ast.expr, scope: Scope) -> list[Origin]:
        return [Constant(value, node, scope)]

    def reference(self, target: str | Scope, node: ast.AST, scope: Scope) -> list[Origin]:
        return [Reference(target)]

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:
        return [Result(callee, call, scope)]

    def display(self, node: Written, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:
        return [Display(node, scope)]

    def operator(self, node: ast.AST, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return [Constant(-number, node, scope)]
        return [Unknown(node, scope)]

    def element(self, loop: Binding, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:
        """Of functions and objects that are written out, all that the variable may be."""
        items = _taken(loop.value, loop.path, scope, of) if loop.value is not None else None
        found = self.join([of(*item) for item in items or ()])
        if found and all(isinstance(o, Reference) or (isinstance(o, Result) and _is_made(o)) for o in found):
            return found
        whole = loop.value if not loop.path else None
        return [Element(whole, scope) if whole is not None else Unknown(loop.node, scope)]

    def known_call(self, call: ast.Call, scope: Scope, of: Of[list[Origin]]) -> list[Origin] | None:
        return self._of_text(call, scope, of) if getattr(call.func, "attr", "") in _OF_TEXTS else None

    def _of_text(self, call: ast.Call, scope: Scope, of: Of[list[Origin]]) -> list[Origin] | None:
        """The parts of a dotted name, and a name that is put together of such parts."""
        from torchrepro_lint.dataflow import texts  # few programs take names apart

        found: list[Origin] = []
        if texts.is_split(call) and isinstance(call.func, ast.Attribute):
            for origin in of(call.func.value, scope):
                text = origin.value if isinstance(origin, Constant) else None
                is_text = isinstance(text, str)
                found.append(Display(texts.split(call, str(text)), scope) if is_text else Unknown(call, scope))
        elif texts.is_join(call):
            for origin in of(call.args[0], scope):
                name = texts.joined(call, origin.node) if isinstance(origin, Display) else None
                found.append(Constant(name, call, scope) if name is not None else Unknown(call, scope))
        return None if all(isinstance(origin, Unknown) for origin in found) else found

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[list[Origin]]) -> list[Origin]:
        """A part of a list that is written out, counted from its end."""
        if not isinstance(key, ast.Slice | ast.UnaryOp):
            return [Unknown(container, scope)]
        from torchrepro_lint.dataflow import texts  # likewise

        found: list[Origin] = []
        for origin in of(container, scope):
            if isinstance(origin, Display) and isinstance(origin.node, ast.Tuple | ast.List):
                part = texts.part(origin.node, key)
                found += of(part, origin.scope) if part is not None else []
        return found or [Unknown(container, scope)]

    def parameter(self, binding: Binding, function: Scope, of: Of[list[Origin]]) -> list[Origin]:
        assert isinstance(binding.node, ast.arg)
        return [Parameter(binding.node.arg, function)]


def _taken(container: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[list[Origin]]) -> list[_Item] | None:
    """What a loop over `container` may take, or the part of it that `path` leads to; None where that is not written
    out, and of nothing."""
    items: list[_Item] = []
    for origin in of(container, scope):
        found = _taken_of(origin, path, of)
        if not found or len(items) + len(found) > MAX_ITEMS:
            return None
        items += found
    return items


def _taken_of(origin: Origin, path: tuple[int, ...], of: Of[list[Origin]]) -> list[_Item] | None:
    match origin, path:
        case Display(node=ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items), scope=where), _:
            return _parts(items, path, where, of)
        case Display(node=ast.ListComp(elt=made) as listed, scope=where), ():
            return [(made, where.children[listed])] if listed in where.children else None
        case Result(callee="builtins.enumerate", node=ast.Call(args=[items, *_]), scope=where), (1, *rest):
            return _taken(items, tuple(rest), where, of)
        case Result(callee="builtins.zip", node=ast.Call(args=args), scope=where), (place, *rest) if place < len(args):
            return _taken(args[place], tuple(rest), where, of)
        case Result(callee=str() as name, node=ast.Call(args=[items, *_]), scope=where), _ if name in SAME_ITEMS:
            return _taken(items, path, where, of)
        case Result(callee=None, node=ast.Call(func=ast.Attribute(value=table, attr="values")), scope=where), _:
            return _values(table, path, where, of)
        case Result(callee=None, node=ast.Call(func=ast.Attribute(value=table, attr="items")), scope=where), (1, *rest):
            return _values(table, tuple(rest), where, of)
    return None


def _values(table: ast.expr, path: tuple[int, ...], scope: Scope, of: Of[list[Origin]]) -> list[_Item] | None:
    match of(table, scope):
        case [Display(node=ast.Dict(keys=keys, values=values), scope=where)] if None not in keys:
            return _parts(values, path, where, of)
    return None


def _parts(items: Sequence[ast.expr], path: tuple[int, ...], scope: Scope, of: Of[list[Origin]]) -> list[_Item] | None:
    """The parts of these items that a path leads to."""
    found: list[_Item] = []
    for item in items[: MAX_ITEMS + 1]:
        if isinstance(item, ast.Starred):
            inner = _taken(item.value, path, scope, of)
        elif path:
            opened = [(unpacked(origin, path[0]), origin) for origin in of(item, scope)]
            parts = [(part, o.scope) for part, o in opened if part is not None and isinstance(o, Display)]
            inner = [i for part, where in parts for i in _parts([part], path[1:], where, of) or ()]
        else:
            inner = [(item, scope)]
        if not inner:
            return None
        found += inner
    return found


def unpacked(origin: Origin, place: int) -> ast.expr | None:
    """The item at `place` of a tuple or list that is written out."""
    if not isinstance(origin, Display) or not isinstance(origin.node, ast.Tuple | ast.List):
        return None
    items = origin.node.elts
    is_known = place < len(items) and not any(isinstance(i, ast.Starred) for i in items)
    return items[place] if is_known else None


def display_items(origin: Origin, key: ast.expr) -> list[ast.expr]:
    """The item of a display that a literal key means; of a table of functions, all that another key may mean."""
    if isinstance(key, ast.Constant):
        item = display_item(origin, key)
        return [item] if item is not None else []
    if isinstance(origin, Display) and isinstance(origin.node, ast.Dict) and None not in origin.node.keys:
        values = origin.node.values
        is_table = all(isinstance(v, ast.Name | ast.Attribute | ast.Lambda) for v in values)
        return values if is_table and len(values) <= MAX_ITEMS else []
    return []


def display_item(origin: Origin, key: ast.Constant) -> ast.expr | None:
    """The item of a display that a literal key means."""
    if not isinstance(origin, Display):
        return None
    match origin.node:
        case ast.Tuple(elts=items) | ast.List(elts=items) if isinstance(key.value, int):
            return items[key.value] if -len(items) <= key.value < len(items) else None
        case ast.Dict(keys=keys, values=values):
            for k, v in zip(keys, values, strict=True):
                if isinstance(k, ast.Constant) and k.value == key.value:
                    return v
    return None


def put_items(origin: Origin, key: ast.expr) -> list[tuple[ast.expr | None, Scope]]:
    """What is put under a literal key into a dict that begins as `name = {...}`: `name["key"] = value` in its file."""
    match origin, key:
        case Display(node=ast.Dict() as node, scope=scope), ast.Constant(value=str(text)) if not is_configured(origin):
            begins = scope.facts.parents.get(node)
        case _:
            return []
    names = {t.id for t in begins.targets if isinstance(t, ast.Name)} if isinstance(begins, ast.Assign) else set()
    found = (
        (item.value, item.scope)
        for name in sorted(names)
        for item in scope.facts.item_sets(text, name)
        if item.scope.binding_scope(name) is scope.binding_scope(name)
    )
    return list(islice(found, MAX_SETS))


def is_configured(origin: Origin) -> bool:
    """Whether a value is written in a configuration file."""
    scope = getattr(origin, "scope", None)
    return isinstance(scope, Scope) and scope.facts.source.kind == "configuration"
