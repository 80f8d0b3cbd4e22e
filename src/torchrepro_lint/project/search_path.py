"""The folders that a file puts on `sys.path` itself: `sys.path.insert(0, os.path.join(dirname(__file__), "lib"))`.

Reads one file, and works out path expressions as far as they hang on `__file__` and literals. A relative folder
is left relative: who asks knows where the program is started.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from torchrepro_lint.index import ModuleFacts, Scope, dotted

MAX_DEPTH = 12
_KEPT = frozenset({"abspath", "realpath", "normpath", "expanduser", "str", "Path", "PurePath", "resolve", "absolute",
                   "as_posix", "fspath"})  # fmt: skip


class SearchPath(NamedTuple):
    """`first` come before the script's own folder, `last` after it; `setters` are modules imported to do this."""

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    setters: tuple[tuple[str, int], ...] = ()


_SET = re.compile(rb"\bsys\.path\b")
_IMPORT = re.compile(rb"\bimport\b(\s*\()?")
_CLOSED, _LINE = re.compile(rb"\)|\Z"), re.compile(rb"(?<!\\)(?<!\\\r)\n|[(]|\Z")
_SETTER = re.compile(rb"\b(?!path\b|pathlib\b)\w*path")


def may_set_path(content: bytes) -> bool:
    """Whether a file may have a search path, by its text: most have none, and need not be parsed for it."""
    return b"path" in content and (_SET.search(content) is not None or _imports_setter(content))


def _imports_setter(content: bytes) -> bool:
    """Whether an import names a module such as `_init_path`. No part of the text is searched twice, although an import
    may never be closed."""
    searched = {_CLOSED: 0, _LINE: 0}
    for found in _IMPORT.finditer(content):
        bound, start = _CLOSED if found[1] else _LINE, found.end()
        if start >= searched[bound]:
            end = bound.search(content, start)
            searched[bound] = end.end() if end is not None else len(content)
            if _SETTER.search(content, start, searched[bound]):
                return True
    return False


def search_path_of(facts: ModuleFacts) -> SearchPath:
    """What a file adds to `sys.path`, directly or through a function of its own."""
    setters = tuple((b.target, b.level) for b in facts.imports if "path" in b.target.rpartition(".")[2].strip("."))
    if "sys.path" not in facts.source.text:
        return SearchPath(setters=tuple(s for s in setters if s[0].rpartition(".")[2] not in ("path", "pathlib")))
    first: list[str] = []
    last: list[str] = []
    for call, scope in (*facts.calls.get("insert", ()), *facts.calls.get("append", ())):
        if not isinstance(call.func, ast.Attribute) or dotted(call.func.value) != "sys.path" or not call.args:
            continue
        into = last if call.func.attr == "append" else first
        into += [f for f in _folders(call.args[-1], scope, facts) if f not in into]
    return SearchPath(tuple(first), tuple(last), tuple(s for s in setters if s[0] not in ("os.path", "pathlib")))


def search_path_from(row: Any) -> SearchPath:
    """The same as JSON gives it back."""
    first, last, setters = row
    named = tuple((str(name), int(level)) for name, level in setters)
    return SearchPath(tuple(map(str, first)), tuple(map(str, last)), named)


def _folders(expr: ast.expr, scope: Scope, facts: ModuleFacts) -> Iterator[str]:
    """The values of `expr`: one, or one for each call when it is a parameter of the function around it."""
    node = scope.node
    names = [a.arg for a in node.args.args] if isinstance(node, ast.FunctionDef) else []
    if not isinstance(expr, ast.Name) or expr.id not in names:
        values: list[str | None] = [_value(expr, facts)]
    else:
        place = names.index(expr.id)
        calls = [c for c, _ in facts.calls.get(scope.own_name, ()) if len(c.args) > place]
        values = [_value(c.args[place], facts) for c in calls]
    yield from (v for v in values if v is not None)


def _value(expr: ast.expr, facts: ModuleFacts, depth: int = 0) -> str | None:
    """The path that an expression is, or None."""

    def value(node: ast.expr) -> str | None:
        return _value(node, facts, depth + 1)

    if depth > MAX_DEPTH:
        return None
    match expr:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id="__file__"):
            return str(facts.source.path)
        case ast.Name(id=name):
            bindings = facts.scope.bindings.get(name, [])
            only = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
            return value(only) if only is not None else None
        case ast.Attribute(value=inner, attr="parent"):
            return _up(value(inner), 1)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int() as n)):
            return _up(value(inner), n + 1)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _joined([value(left), value(right)])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            start, end = value(left), value(right)
            return start + end if start is not None and end is not None else None
        case ast.Call():
            return _called(expr, value)
    return None


def _called(call: ast.Call, value: Callable[[ast.expr], str | None]) -> str | None:
    """`join`, `dirname` and what leaves a path as it is, whatever module they are taken from."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    match name:
        case "join" | "joinpath":
            start = [value(function.value)] if name == "joinpath" and isinstance(function, ast.Attribute) else []
            return _joined(start + [value(a) for a in call.args])
        case "dirname" if call.args:
            return _up(value(call.args[0]), 1)
        case "getcwd" | "cwd":
            return ""
        case _ if name in _KEPT:
            inner = call.args[0] if call.args else getattr(function, "value", None)
            return value(inner) if inner is not None else None
    return None


def _up(path: str | None, times: int) -> str | None:
    for _ in range(times):
        path = os.path.dirname(path) if path is not None else None
    return path


def _joined(parts: list[str | None]) -> str | None:
    known = [p for p in parts if p is not None]
    return os.path.normpath(os.path.join(*known)) if known and len(known) == len(parts) else None
