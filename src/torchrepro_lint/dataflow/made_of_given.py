"""Objects that a library makes of a class which it is given, `from_dict(Config, read(path))`, or copies."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Origin, Reference, Result
from torchrepro_lint.index import Scope, keyword_value

MAX_KINDS = 8


def made_of_given(
    callee: str, call: ast.Call, scope: Scope, value: Callable[[ast.expr, Scope], list[Origin]]
) -> list[tuple[Scope, ast.Call]]:
    """The classes of the project of which a library's function gives an object, each with the call that this amounts
    to: what its fields are given is not known, `Config(**...)`."""
    row, is_copied = (
        catalogue.names("callables", "parses").get(callee),
        callee in catalogue.names("callables", "copies"),
    )
    place = row["position"] if row is not None else 0
    given = call.args[place] if place < len(call.args) else keyword_value(call, row["keyword"]) if row else None
    if given is None or (row is None and not is_copied):
        return []
    origins = [o for kind in ([given] if is_copied else _alternatives(given)) for o in value(kind, scope)]
    owners = dict.fromkeys(_class_of(origin, is_copied) for origin in origins)
    unknown = [ast.keyword(None, given), *(call.keywords if is_copied else ())]
    made = [(owner, ast.Call(ast.Name(owner.own_name), [], unknown)) for owner in owners if owner is not None]
    return [(owner, ast.copy_location(as_made, call)) for owner, as_made in made][:MAX_KINDS]


def _class_of(origin: Origin, is_object: bool) -> Scope | None:
    """The class of the project that a value is, or of which it is an object."""
    match origin:
        case Reference(target=Scope(kind="class") as owner) if not is_object:
            return owner
        case Result(callee=Scope(kind="class") as owner) if is_object:
            return owner
    return None


def _alternatives(kind: ast.expr) -> list[ast.expr]:
    """The types that one may be: of `A | B`, `Union[A, B]`."""
    found: list[ast.expr] = []
    pending = [kind]
    while pending:
        match pending.pop():
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                pending += [right, left]
            case ast.Subscript(value=ast.Name(id="Union") | ast.Attribute(attr="Union"), slice=ast.Tuple(elts=kinds)):
                pending += reversed(kinds)
            case one:
                found.append(one)
    return found
