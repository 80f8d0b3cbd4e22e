"""Which argument of a call becomes which parameter of the function that it calls: the one place that knows."""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.abstract_values import Unknown
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Binding, FunctionNode, Scope, keyword_value

CONSTRUCTOR = "__init__"


def positional_parameters(function: Scope) -> list[str]:
    """The parameters that positional arguments fill, without the `self` or `cls` of a method."""
    node = function.node
    if not isinstance(node, FunctionNode | ast.Lambda):
        return []
    names = [a.arg for a in node.args.posonlyargs + node.args.args]
    return names[1:] if function.self_name else names


def argument_for(call: ast.Call, function: Scope, name: str) -> ast.expr | Unknown | None:
    """The expression that `call` passes for the parameter `name`; None when it is left out."""
    value = keyword_value(call, name)
    if value is not None:
        return value
    if not isinstance(function.node, FunctionNode):
        return Unknown(call)
    positional = positional_parameters(function)
    if name in positional:
        place = positional.index(name)
        if any(isinstance(a, ast.Starred) for a in call.args[: place + 1]):
            return Unknown(call)
        if place < len(call.args):
            return call.args[place]
    return Unknown(call) if any(k.arg is None for k in call.keywords) else None


def value_for(call: ast.Call, caller: Scope, function: Scope, parameter: Binding) -> Site | None:
    """What `call` gives a parameter, or its default, where each is evaluated; None where the call does not show it."""
    passed = argument_for(call, function, parameter.node.arg)  # type: ignore[attr-defined]
    if isinstance(passed, ast.expr):
        return Site(passed, caller)
    is_default = passed is None and parameter.value is not None
    return Site(parameter.value, function.parent or function) if is_default else None  # type: ignore[arg-type]


def fields(owner: Scope) -> list[str]:
    """The fields of a data class or named tuple, which has no constructor in sight, in the order of its arguments."""
    body = owner.node.body if isinstance(owner.node, ast.ClassDef) else ()
    return [s.target.id for s in body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]


def field_value(call: ast.Call, owner: Scope, key: object) -> ast.expr | Unknown | None:
    """What a construction of such a class gives a field, by its name or place; None when it is left out."""
    known = fields(owner)
    name = known[key] if isinstance(key, int) and 0 <= key < len(known) else key
    place = known.index(name) if isinstance(name, str) and name in known else len(call.args)
    if any(isinstance(a, ast.Starred) for a in call.args[: place + 1]):
        return Unknown(call)
    given = call.args[place] if place < len(call.args) else keyword_value(call, str(name))
    return Unknown(call) if given is None and any(k.arg is None for k in call.keywords) else given


def passed_by_name(call: ast.Call, *positional: str) -> dict[str | None, ast.expr]:
    """What a call passes, by keywords; and by these names what it passes by position."""
    return {k.arg: k.value for k in call.keywords} | dict(zip(positional, call.args, strict=False))


def argument_place(call: ast.Call, passed: ast.AST) -> int | None:
    """The position of an argument of `call`; None for a keyword's value, and behind `*args`."""
    place = next((i for i, a in enumerate(call.args) if a is passed), None)
    return None if place is None or any(isinstance(a, ast.Starred) for a in call.args[:place]) else place


def parameter_at(function: Scope, name: str | None, position: int | None) -> str | None:
    """The parameter that the keyword `name`, or the argument at `position`, is given to; None for one that goes into
    `*args` or `**kwargs`."""
    if name is not None:
        return name if name in named_parameters(function) else None
    positional = positional_parameters(function)
    return positional[position] if position is not None and position < len(positional) else None


def takes_keywords(function: Scope) -> str | None:
    """The parameter that all other keywords go into."""
    node = function.node
    extra = node.args.kwarg if isinstance(node, FunctionNode | ast.Lambda) else None
    return extra.arg if extra is not None else None


def named_parameters(function: Scope) -> list[str]:
    """The parameters that keyword arguments can fill."""
    node = function.node
    keyword_only = [a.arg for a in node.args.kwonlyargs] if isinstance(node, FunctionNode | ast.Lambda) else []
    return positional_parameters(function) + keyword_only


def is_super(node: ast.expr) -> bool:
    """`super()` or `super(Class, self)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
