"""Which calls of the builtin `hash` give another number in every process: those of text, bytes, and tuples
of them.

Python salts these hashes unless PYTHONHASHSEED is set before it starts; those of numbers are the same
everywhere. Says only what the code shows of an argument's type; knows nothing of what is done with the
hash.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Element, Parameter, Result
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Certainty

HASH = "builtins.hash"
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def salted(call: ast.Call, scope: Scope, program: Program) -> Certainty | None:
    """Whether `call` is a salted hash: certain, likely by its argument's name, or not known to be."""
    if len(call.args) != 1 or program.callee(call, scope) != HASH:
        return None
    return text_like(call.args[0], scope, program)


def text_like(expr: ast.expr, scope: Scope, program: Program, depth: int = 0) -> Certainty | None:
    """Whether a value is, or contains, text or bytes."""
    if depth > 6:
        return None
    match expr:
        case ast.Constant(value=value):
            return Certainty.CERTAIN if isinstance(value, str | bytes) else None
        case ast.JoinedStr():
            return Certainty.CERTAIN
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod() | ast.Div(), right=right):
            if not isinstance(expr.op, ast.Add):
                return text_like(left, scope, program, depth + 1)
            return _strongest(text_like(side, scope, program, depth + 1) for side in (left, right))
        case ast.Tuple(elts=items):
            return _strongest(text_like(item, scope, program, depth + 1) for item in items)
        case ast.IfExp(body=body, orelse=orelse):
            return text_like(body, scope, program, depth + 1) or text_like(orelse, scope, program, depth + 1)
        case ast.Call():
            return _made_text(expr, scope, program, depth)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _held_text(expr, scope, program, depth)
    return None


def _strongest(found: Any) -> Certainty | None:
    answers = [f for f in found if f is not None]
    return Certainty.CERTAIN if Certainty.CERTAIN in answers else Certainty.LIKELY if answers else None


@cache
def _table() -> Mapping[str, Any]:
    return catalogue.table("generators")["text"]  # type: ignore[no-any-return]


def _made_text(call: ast.Call, scope: Scope, program: Program, depth: int) -> Certainty | None:
    """The result of a function or method that gives text or bytes, or a tuple or frozenset of some."""
    name = program.callee(call, scope)
    if name in _table()["functions"]:
        return Certainty.CERTAIN
    if name in ("builtins.tuple", "builtins.frozenset", "builtins.sorted") and len(call.args) == 1:
        return _item_of(call.args[0], scope, program, depth)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _table()["methods"]:
        return Certainty.CERTAIN if name is None or not name.startswith("numpy.") else None
    return None


def _held_text(expr: ast.expr, scope: Scope, program: Program, depth: int) -> Certainty | None:
    """What a variable, attribute or item holds, by where it comes from, its annotation or its name."""
    found = program.origins(expr, scope)
    for origin in found:
        match origin:
            case Constant(value=value) if value is not None:
                return Certainty.CERTAIN if isinstance(value, str | bytes) else None
            case Result(node=node, scope=made) if node is not expr:
                if (certainty := text_like(node, made, program, depth + 1)) is not None:
                    return certainty
            case Element(iterable=iterable, scope=made):
                if (certainty := _item_of(iterable, made, program, depth)) is not None:
                    return certainty
            case Display(node=ast.Tuple() as node, scope=made):
                return text_like(node, made, program, depth + 1)
            case Parameter(name=name, scope=function):
                annotation = _annotation(function, name)
                if annotation is not None:
                    return Certainty.CERTAIN if annotation in ("str", "bytes", "Path") else None
    return Certainty.LIKELY if _named_as_text(expr) else None


def _item_of(iterable: ast.expr, scope: Scope, program: Program, depth: int) -> Certainty | None:
    """Whether the items of `iterable` are text."""
    if isinstance(iterable, ast.Call):
        name = program.callee(iterable, scope)
        if name in _table()["lists"]:
            return Certainty.CERTAIN
        if name in ("builtins.sorted", "builtins.list", "builtins.set", "builtins.reversed") and iterable.args:
            return _item_of(iterable.args[0], scope, program, depth + 1) if depth < 6 else None
    if isinstance(iterable, ast.List | ast.Tuple | ast.Set):
        return _strongest(text_like(item, scope, program, depth + 1) for item in iterable.elts)
    return None


def _annotation(function: Scope, name: str) -> str | None:
    args = getattr(function.node, "args", None)
    if not isinstance(args, ast.arguments):
        return None
    for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if parameter.arg == name and parameter.annotation is not None:
            return ast.unparse(parameter.annotation).strip("'\"")
    return None


def _named_as_text(expr: ast.expr) -> bool:
    """Whether the last word of a name says that it is text: `file_name`, `sample.path`, `row["word"]`."""
    match expr:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            words = _PARTS.findall(name)
            return bool(words) and words[-1].lower() in _table()["words"]
    return False
