"""Which attributes of a data set a program exchanges after it was made: `val_set.transform = plain`, or
`val_set.set_split("val")`. Reads what is done to the same name; a copy is another name of what it is a copy of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow import CallSite, Program, Site
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.reaching_definitions import reads_of_object
from torchrepro_lint.index import Scope

INSIDE = "dataset"  # the attribute of a subset by which the data set is changed that it is one of


class SetTo(NamedTuple):
    """What an attribute is set to, and the call of the method that does so, if it is done by one."""

    value: Site
    within: tuple[CallSite, ...] = ()


def exchanged(held: ast.expr, scope: Scope, owner: Scope, program: Program) -> dict[str, list[SetTo]]:
    """What each attribute is set to, of an object of the class `owner` that goes by the name `held`, or of the one that
    a subset of that name holds; nothing where that is not known."""
    found: dict[str, list[SetTo]] = {}
    for name, exchange in _exchanges(held, scope, owner, program) if isinstance(held, ast.Name) else ():
        found.setdefault(name, []).extend([exchange] if exchange is not None else ())
    return found


def _exchanges(held: ast.Name, scope: Scope, owner: Scope, program: Program) -> Iterator[tuple[str, SetTo | None]]:
    parents = scope.facts.parents
    for site in reads_of_object(held, scope):
        match parents[site.node]:
            case ast.Attribute(attr=attr) as used:
                if attr == INSIDE and isinstance(inner := parents[used], ast.Attribute):
                    used = inner
                match parents[used]:
                    case ast.Assign(targets=[target], value=value) if target is used and used.attr != INSIDE:
                        yield used.attr, SetTo(Site(value, site.scope))
                    case ast.Call(func=func) as call if func is used:
                        method = program.names.method(owner, used.attr)
                        if method is not None:
                            yield from _by_method((call, site.scope), method, owner, program)


def _by_method(call: CallSite, method: Scope, owner: Scope, program: Program) -> Iterator[tuple[str, SetTo | None]]:
    """What a method sets that other methods set as well."""
    for base in program.names.classes(owner):
        for attr, sets in base.attributes.items():
            if any(where is not method for _, where in sets):
                yield from ((attr, _set_to(b.value, call, method)) for b, where in sets if where is method)


def _set_to(value: ast.expr | None, call: CallSite, method: Scope) -> SetTo | None:
    """What one call of a method sets an attribute to: an argument, or what a function returns for it."""
    match value:
        case ast.Name(id=name) if method.binding_scope(name) is method:
            passed = argument_for(call[0], method, name)
            return SetTo(Site(passed, call[1])) if isinstance(passed, ast.expr) else None
        case ast.expr():
            return SetTo(Site(value, method), (call,))
    return None
