"""The calls that list a folder: functions of `os` and `glob`, and methods of what is, or looks like, a path."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program, remembered_in_file, start_of
from torchrepro_lint.index import Scope, last_name, walk

SEPARATOR = ast.Constant("/")
_WILDCARD = re.compile(r"[*?\[]")
# Other objects that have a `glob`: they are asked for a remote store, and sort by themselves or not.
_OTHER_STORES = ("fs", "filesystem", "storage", "client", "bucket", "hdfs", "s3", "gcs", "api", "gfile")


class Listing(NamedTuple):
    """One call; for `items` and `lazy` see the catalogue's `order` table."""

    node: ast.Call
    scope: Scope
    items: str
    lazy: bool


def listings(module: Module, program: Program) -> Iterator[Listing]:
    """All listings of a file, in source order."""
    functions, methods = catalogue.names("order", "listings"), catalogue.names("order", "path_methods")
    found = [(call.node, call.scope, functions[call.name]) for call in module.calls(functions.keys())]
    for name, row in methods.items():
        sites = module.facts.calls.get(name, ())
        found += [(call, scope, row) for call, scope in sites if _is_on_path(call, scope, program)]
    for call, scope, row in sorted(found, key=lambda item: start_of(item[0])):
        if not _names_one(call, scope):
            yield Listing(call, scope, row["items"], row["lazy"])


def _names_one(call: ast.Call, scope: Scope) -> bool:
    """Whether a `glob` is given a text without wildcards, or one below a folder: at most one file has that name."""
    is_text = bool(call.args) and isinstance(parts_of(call.args[0])[-1], ast.Constant)
    return is_text and is_by_name(call, scope) and last_name(call.func) != "rglob"


def is_by_name(listing: ast.expr, scope: Scope) -> bool:
    """Whether files are searched for by a whole name, which few folders hold twice: `folder.rglob(f"{model}.yaml")`."""
    match listing:
        case ast.Call(func=function, args=[pattern, *_]) if last_name(function) in ("glob", "iglob", "rglob"):
            parts = [part for part in parts_of(pattern) if part is not SEPARATOR]
            is_text = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)
            return is_text and not any(_has_wildcard(part, scope) for part in parts)
    return False


def _has_wildcard(part: ast.expr, scope: Scope) -> bool:
    """Whether a wildcard is written in a part of a pattern, or in what its name is bound to: `folders = "*/" * 2`."""
    part = part.value if isinstance(part, ast.FormattedValue) else part
    return _is_bound_to_wildcard(part.id, scope.function) if isinstance(part, ast.Name) else _writes_wildcard(part)


@remembered_in_file
def _is_bound_to_wildcard(name: str, function: Scope) -> bool:
    """Whether any value that a function gives a name is written with a wildcard."""
    values = [binding.value for binding in function.bindings.get(name, ())]
    return any(_writes_wildcard(value) for value in values if value is not None)


def _writes_wildcard(expr: ast.expr) -> bool:
    texts = (node.value for node in walk(expr) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and _WILDCARD.search(text) is not None for text in texts)


def parts_of(pattern: ast.expr) -> list[ast.expr]:
    """What a pattern is put together from, with SEPARATOR where folders are joined: `join(folder, "config.yaml")`,
    `f"{name}.yaml"`, `name + ".yaml"`."""
    found: list[ast.expr] = []
    pending = [pattern]  # the last one comes first
    while pending:
        match pending.pop():
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pending += (right, left)
            case ast.JoinedStr(values=[_, *_] as parts):
                found += parts
            case ast.Call(func=ast.Attribute(attr="join"), args=[first, _, *_] as parts, keywords=[]):
                pending += (piece for part in reversed(parts[1:]) for piece in (part, SEPARATOR))
                pending.append(first)
            case part:
                found.append(part)
    return found


def _is_on_path(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a method is called on a path; `iterdir` and `rglob` are names that only paths have."""
    function = call.func
    if not isinstance(function, ast.Attribute) or program.qualified(function, scope) is not None:
        return False
    if any(isinstance(c, Scope) for c in program.values.callees(call, scope)):
        return False
    named = [maker for maker in program.makers(function.value, scope) if isinstance(maker, str)]
    if named:
        return all(maker.startswith(("pathlib.", "builtins.super")) for maker in named)
    if function.attr != "glob":
        return True
    words = ast.unparse(function.value).lower().replace(".", "_").split("_")
    return bool(call.args) and not any(store in words for store in _OTHER_STORES)
