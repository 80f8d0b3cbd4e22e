"""Whether an expression is text, or holds texts. Only hashes of text change from run to run; a set of integers comes
in the same order each time.

Reads what is written: literals, methods that only strings have, functions that give strings, and last the name.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Element, Origin, Result, Unknown
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Binding, Scope

MAX_STEPS = 120
_SAME_ITEMS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter",
                         "collections.Counter"})  # fmt: skip


class Evidence(IntEnum):
    """How much speaks for text: nothing, a name that says so, or what the expression does."""

    NONE = 0
    NAME = 1
    SURE = 2


class Texts:
    """Evidence for single values (`is_text`) and for the items of an iterable (`holds_text`)."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._table: Mapping[str, Any] = catalogue.table("order")["text"]
        self._seen: set[tuple[int, str]] = set()

    def is_text(self, node: ast.expr, scope: Scope) -> Evidence:
        """Whether `node` is a string, bytes, or a tuple with one in it."""
        self._seen = set()
        return self._text(node, scope)

    def holds_text(self, node: ast.expr, scope: Scope) -> Evidence:
        """Whether the items of `node` are texts; those of a text are its characters."""
        self._seen = set()
        return self._items(node, scope)

    def _is_new(self, node: ast.AST, question: str) -> bool:
        """Whether `node` was not asked about yet; values that are made from each other would go round for ever."""
        key = (id(node), question)
        if key in self._seen or len(self._seen) > MAX_STEPS:
            return False
        self._seen.add(key)
        return True

    def _text(self, node: ast.expr, scope: Scope) -> Evidence:
        if not self._is_new(node, "text"):
            return Evidence.NONE
        match node:
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                return Evidence.SURE
            case ast.Call():
                return self._call(node, scope)
            case ast.BinOp(op=ast.Add() | ast.Mod() | ast.Mult(), left=left, right=right):
                return max(self._text(left, scope), self._text(right, scope))
            case ast.Tuple(elts=items):
                return max((self._text(i, scope) for i in items), default=Evidence.NONE)
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                return self._named(key)
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self._text(value, scope)
            case ast.Subscript(value=value):
                return self._items(value, scope)
            case ast.Attribute(attr=attr) if attr in self._table["attributes"]:
                return Evidence.SURE
            case ast.Attribute(attr=attr):
                return self._named(attr)
            case ast.Name(id=name):
                found = [self._origin(o) for o in self.program.origins(node, scope)]
                return max((*found, self._named(name), self._key(name, scope)), default=Evidence.NONE)
        return Evidence.NONE

    def _key(self, name: str, scope: Scope) -> Evidence:
        """`for key, value in mapping.items()`."""
        owner = scope.binding_scope(name)
        match owner.bindings[name] if owner is not None else []:
            case [Binding(kind="loop", path=(0,), value=ast.Call(func=ast.Attribute(value=mapping, attr="items")))]:
                return self._items(mapping, scope)
        return Evidence.NONE

    def _items(self, node: ast.expr, scope: Scope) -> Evidence:
        if not self._is_new(node, "items"):
            return Evidence.NONE
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr():
                return Evidence.SURE
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return min((self._text(i, scope) for i in items), default=Evidence.NONE)
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
                return self._text(item, scope.children.get(node, scope))
            case ast.Dict(keys=keys):
                known = [k for k in keys if k is not None]
                return min((self._text(k, scope) for k in known), default=Evidence.NONE)
            case ast.Call():
                return self._iterable_call(node, scope)
            case ast.BinOp(left=left, right=right):
                return max(self._items(left, scope), self._items(right, scope))
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                return self._named(key)
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self._items(value, scope)
            case ast.Subscript(value=ast.Name() as value):
                return self._array(value, scope)
            case ast.Attribute(attr=name) | ast.Name(id=name):
                found = [self._held(o) for o in self.program.origins(node, scope)]
                return max((*found, self._named(name)), default=Evidence.NONE)
        return Evidence.NONE

    def _origin(self, origin: Origin) -> Evidence:
        match origin:
            case Constant(value=str() | bytes()):
                return Evidence.SURE
            case Element(iterable=iterable, scope=scope):
                return self._items(iterable, scope)
            case Result(node=call, scope=scope):
                return self._call(call, scope)
            case Unknown(node=ast.BinOp() | ast.JoinedStr() as made, scope=Scope() as scope):
                return self._text(made, scope)
        return Evidence.NONE

    def _held(self, origin: Origin) -> Evidence:
        match origin:
            case Constant(value=str()):
                return Evidence.SURE
            case Display(node=node, scope=scope):
                return self._items(node, scope)
            case Result(node=call, scope=scope):
                return self._iterable_call(call, scope)
            case Element(iterable=iterable, scope=scope):
                return self._items(iterable, scope)
            case Unknown(node=ast.Name() as array, scope=Scope() as scope):  # a part of it
                return self._array(array, scope)
            case Unknown(node=ast.BinOp() | ast.JoinedStr() as made, scope=Scope() as scope):
                return self._items(made, scope)
        return Evidence.NONE

    def _array(self, node: ast.expr, scope: Scope) -> Evidence:
        """Whether `node` is an array whose type is text, so that every part of it is."""
        made = self.program.origins(node, scope)
        calls = [(o.callee, o.node) for o in made if isinstance(o, Result) and isinstance(o.callee, str)]
        typed = [c for name, c in calls if name.startswith("numpy.") and any(_is_text_type(k) for k in c.keywords)]
        return Evidence.SURE if typed and len(typed) == len(made) else Evidence.NONE

    def _call(self, call: ast.Call, scope: Scope) -> Evidence:
        name = self.program.qualified(call.func, scope)
        if name is not None:
            return Evidence.SURE if name in self._table["functions"] else Evidence.NONE
        if isinstance(call.func, ast.Attribute) and call.func.attr in self._table["methods"]:
            return Evidence.SURE
        return Evidence.NONE

    def _iterable_call(self, call: ast.Call, scope: Scope) -> Evidence:
        name = self.program.qualified(call.func, scope) or ""
        wraps = name.removeprefix("builtins.")
        if wraps in _SAME_ITEMS and call.args:
            return self._items(call.args[-1], scope)
        if wraps == "map" and call.args:
            mapped = self.program.qualified(call.args[0], scope)
            return Evidence.SURE if mapped in self._table["functions"] else Evidence.NONE
        if isinstance(call.func, ast.Attribute) and call.func.attr == "keys":
            return Evidence.NAME
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("iterdir", "rglob"):
            return Evidence.SURE
        return self._call(call, scope) or self._returned(call, scope)

    def _returned(self, call: ast.Call, scope: Scope) -> Evidence:
        """What a function of the project gives."""
        made = [o for o in self.program.origins(call, scope) if getattr(o, "node", None) is not call]
        return min(map(self._held, made), default=Evidence.NONE)

    def _named(self, name: str) -> Evidence:
        words = set(name.lower().strip("_").split("_"))
        is_number = words & {"id", "ids", "idx", "index", "indices", "num", "count", "len", "lengths"}
        return Evidence.NAME if words & set(self._table["words"]) and not is_number else Evidence.NONE


def _is_text_type(keyword: ast.keyword) -> bool:
    """`dtype=str`, `dtype=np.dtype(str)`, `dtype="U10"`."""
    if keyword.arg != "dtype":
        return False
    names = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(keyword.value)}
    literal = keyword.value.value if isinstance(keyword.value, ast.Constant) else ""
    return bool(names & {"str", "str_", "unicode_"}) or (isinstance(literal, str) and literal.lstrip("<>=")[:1] == "U")
