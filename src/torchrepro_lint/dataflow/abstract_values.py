"""What a value may have come from, as `values` answers: the kinds of origins, and the items of what is written out."""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Scope

MAX_ITEMS = 24  # of a dict whose key is not known


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

    node: ast.Tuple | ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    scope: Scope


class Element(NamedTuple):
    """One item of what is iterated: the loop variable over `iterable`."""

    iterable: ast.expr
    scope: Scope


class Parameter(NamedTuple):
    """A parameter whose callers are not known."""

    name: str
    scope: Scope


class Unknown(NamedTuple):
    """Anything else; `node` is where the trail was lost."""

    node: ast.AST | None = None
    scope: Scope | None = None


Origin: TypeAlias = "Constant | Reference | Result | Display | Element | Parameter | Unknown"


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


def entries_of(display: Display) -> dict[str, Site] | None:
    """The string-keyed entries of a dict display, or None when a key cannot be read."""
    if not isinstance(display.node, ast.Dict):
        return None
    found: dict[str, Site] = {}
    for key, value in zip(display.node.keys, display.node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        found[key.value] = Site(value, display.scope)
    return found
