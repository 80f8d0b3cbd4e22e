"""The edges along which a value moves through the program, each once, in `_EDGES`: names, attributes of `self`,
containers by access path, arguments and results, generators, properties, comprehensions.

Knows nothing of what is followed, or why.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from torchrepro_lint.dataflow import references
from torchrepro_lint.dataflow.abstract_values import SAME_ITEMS
from torchrepro_lint.dataflow.binding import argument_place, fields, parameter_at, takes_keywords
from torchrepro_lint.dataflow.conditions import is_ruled_out
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reaching_definitions import reads_of_binding, reads_of_object
from torchrepro_lint.dataflow.sites import CallSite, Site
from torchrepro_lint.dataflow.use import ANY, CALLED, ESCAPED, STOP, Argument, Held, Step, Steps, Use
from torchrepro_lint.index import FunctionNode, Scope, last_name
from torchrepro_lint.index.compact import by_kind
from torchrepro_lint.project.contents import is_test

_ADDS = {"append": 0, "appendleft": 0, "add": 0, "put": 0, "insert": 1}  # the place of the new item
_RESULT = ".result()"  # what is got of a function that a pool runs

ArgumentSteps: TypeAlias = "Callable[[Use[Any], Argument, str | Scope | None, Edges], Steps | None]"


class Edges:
    """The edges in one program. `passed` may say what becomes of an argument; `is_complete` asks for all reads, those
    of variables in other files included."""

    def __init__(self, program: Program, passed: ArgumentSteps, *, is_complete: bool) -> None:
        self.program = program
        self.passed = passed
        self._is_complete = is_complete
        self.holders: dict[Held, None] = {}
        self.entered: dict[Scope, list[CallSite]] = {}  # function -> the calls by which the value came into it

    def of(self, use: Use[Any]) -> Steps:
        """Where the value goes from here, by what holds the expression."""
        edge = _EDGES.get(use.parent.__class__)
        return edge(use, use.parent, self) if edge is not None else (ESCAPED,)

    def into(self, target: ast.expr, node: ast.AST, use: Use[Any]) -> Iterator[Step]:
        """`node`, mostly a statement, puts it into `target`."""
        match target:
            case ast.Name(id=name):
                owner = use.scope.binding_scope(name)
                if owner is not None:
                    self._held(name, owner, use)
                    yield from self._reads(target, node, owner, use)
                if owner is not None and owner.kind == "class":
                    yield from self.attribute(owner, name, use)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for i, item in enumerate(items):
                    opened = use.opened(i)
                    if opened is not None:
                        yield from self.into(item, node, opened)
            case ast.Starred(value=inner) if use.path:
                yield from self.into(inner, node, use.inside(ANY))
            case ast.Subscript(value=value, slice=key):
                yield from self.into(value, node, use.inside(key_of(key)))
            case ast.Attribute(attr=attr) if (owner := references.class_of_self(target, use.scope)) is not None:
                setter = _setter(owner, attr, self.program)
                yield from self.attribute(owner, attr, use) if setter is None else self._set_by(setter, use)
            case _:
                yield ESCAPED

    def _held(self, name: str, owner: Scope, use: Use[Any]) -> None:
        if not use.path:
            self.holders.setdefault(Held(name, owner, use.state))

    def _reads(self, target: ast.Name, node: ast.AST, owner: Scope, use: Use[Any]) -> Iterator[Step]:
        """Where a variable is read. A container may be filled after other names were bound to it."""
        if not isinstance(target.ctx, ast.Load):
            yield from map(use.site, reads_of_binding(target.id, owner, node))
        elif self._is_complete:
            yield from map(use.site, reads_of_object(target, use.scope))
        else:
            yield from map(use.site, references.reads_following(target, node, use.scope))
        if self._is_complete and owner.kind == "module":
            yield from self._all(references.imported_reads(target.id, owner, self.program), use)

    def _all(self, sites: Sequence[Site] | None, use: Use[Any]) -> Iterator[Step]:
        if sites is None:
            yield ESCAPED
        yield from map(use.site, sites or ())

    def attribute(self, owner: Scope, name: str, use: Use[Any]) -> Iterator[Step]:
        """Instances of `owner` hold it as the attribute `name`."""
        self._held(name, owner, use)
        everywhere = references.attribute_reads(owner, name, self.program)
        if self._is_complete:
            yield from self._all(everywhere, use)
            return
        near = references.self_reads(owner, name, self.program)
        files = {id(site.scope.facts) for site in near} | {id(owner.facts)}
        yield from map(use.site, near)
        for site in everywhere or ():
            if id(site.scope.facts) not in files and not is_test(site.scope.facts):
                yield use.site(site)

    def parameter(self, argument: Argument, function: Scope, use: Use[Any]) -> Iterator[Step]:
        """It becomes a parameter of a project function."""
        name = parameter_at(function, argument.name, argument.position)
        keywords = takes_keywords(function)
        if name is None and (argument.name is None or keywords is None):
            yield ESCAPED
            return
        if name is None and argument.name is not None:
            name, use = keywords, use.inside(argument.name)
        assert name is not None
        self.entered.setdefault(function, []).append((argument.call, use.scope))
        self._held(name, function, use)
        bindings = function.bindings.get(name, ())
        yield from map(use.site, reads_of_binding(name, function, bindings[0].node) if bindings else ())

    def _set_by(self, setter: Scope, use: Use[Any]) -> Iterator[Step]:
        """It becomes the value that the setter of a property is given."""
        for name, bindings in list(setter.bindings.items())[1:2]:
            self._held(name, setter, use)
            yield from map(use.site, reads_of_binding(name, setter, bindings[0].node))

    def returned(self, use: Use[Any]) -> Iterator[Step]:
        """A function gives it to its callers: to those who gave it to the function, where that is how it came."""
        function = use.scope.function
        is_property = any(last_name(d) in ("property", "cached_property") for d in function.decorators)
        if function.parent is not None and is_property:
            yield from self.attribute(function.parent, function.own_name, use)
            return
        calls = self.callers(function)
        if calls is None:
            yield ESCAPED
        for call, scope in calls or ():
            if not is_ruled_out(use.node, use.scope, (call, scope), self.program):
                yield use.site(Site(call, scope))
        if calls == [] and function.parent is not None and function.parent.kind != "class":
            made = reads_of_binding(function.own_name, function.parent, function.node)
            yield from map(use.inside(CALLED).site, made)  # the function is returned, or passed on
        for call, scope in self.program.callers.jobs(function):
            yield use.inside(_RESULT).site(Site(call, scope))

    def callers(self, function: Scope) -> list[CallSite] | None:
        """The calls by which the value came into a function, else all that can be seen; None: there may be others."""
        if function.kind != "function":
            return []
        return self.entered.get(function) or self.program.callers_of(function)


def key_of(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else ANY


def _setter(owner: Scope, name: str, program: Program) -> Scope | None:
    """The function that runs where a property of a class, or of one that it derives from, is set."""
    for base in program.names.classes(owner):
        for binding in base.bindings.get(name, ()):
            decorators = binding.node.decorator_list if isinstance(binding.node, FunctionNode) else ()
            if any(last_name(d) == "setter" for d in decorators):
                return base.children[binding.node]
    return None


# -- the edges, by what holds the expression -----------------------------------------------------------------------
def _assigned(use: Use[Any], parent: ast.Assign, edges: Edges) -> Iterator[Step]:
    for target in parent.targets:
        yield from edges.into(target, parent, use)


def _anywhere(use: Use[Any]) -> Use[Any]:
    """A container whose positions have moved."""
    return replace(use, path=(ANY, *use.path[1:])) if use.path and isinstance(use.path[0], int) else use


def _named(use: Use[Any], parent: ast.NamedExpr, edges: Edges) -> Iterator[Step]:
    yield from edges.into(parent.target, parent, use)
    yield use.at(parent)


def _same(use: Use[Any], parent: ast.expr, _: Edges) -> Iterator[Step]:
    if getattr(parent, "test", None) is not use.node:
        yield use.at(parent)


def _summed(use: Use[Any], parent: ast.BinOp, _: Edges) -> Iterator[Step]:
    if use.path and isinstance(parent.op, ast.Add):
        yield _anywhere(use).at(parent)


def _packed(use: Use[Any], parent: ast.Tuple | ast.List, _: Edges) -> Iterator[Step]:
    if any(isinstance(item, ast.Starred) for item in parent.elts):
        yield use.inside(ANY).at(parent)
    else:
        yield use.inside(parent.elts.index(use.node)).at(parent)


def _entry(use: Use[Any], parent: ast.Dict, _: Edges) -> Iterator[Step]:
    for key, value in zip(parent.keys, parent.values, strict=True):
        if value is use.node and key is None:  # {**other}
            yield use.at(parent)
        elif value is use.node:
            yield use.inside(key_of(key) if key is not None else ANY).at(parent)


def _starred(use: Use[Any], parent: ast.Starred, _: Edges) -> Iterator[Step]:
    display = use.scope.facts.parents[parent]
    if use.path and isinstance(display, ast.Tuple | ast.List):
        yield _anywhere(use).at(display)
    else:
        yield ESCAPED


def _element(use: Use[Any], parent: ast.expr, _: Edges) -> Iterator[Step]:
    """The items of a comprehension."""
    yield use.inside(ANY).at(parent) if getattr(parent, "key", None) is not use.node else ESCAPED


def _iterated(use: Use[Any], parent: ast.For | ast.AsyncFor, edges: Edges) -> Steps:
    return _each(use, parent.target, parent, edges) if parent.iter is use.node else STOP


def _generated(use: Use[Any], parent: ast.comprehension, edges: Edges) -> Steps:
    if parent.iter is not use.node:
        return STOP
    owner = use.scope.facts.parents[parent]
    inner = replace(use, scope=use.scope.children.get(owner, use.scope))
    return _each(inner, parent.target, owner, edges)


def _each(use: Use[Any], target: ast.expr, node: ast.AST, edges: Edges) -> Steps:
    if not use.path or (isinstance(use.path[0], str) and use.path[0] != ANY):
        return STOP  # the items of the value are not the value, and those of a dict are its keys
    return edges.into(target, node, replace(use, path=use.path[1:]))


def _given_by(use: Use[Any], parent: ast.Lambda, _: Edges) -> Iterator[Step]:
    yield use.inside(CALLED).at(parent) if parent.body is use.node else ESCAPED


def _entered(use: Use[Any], parent: ast.withitem, edges: Edges) -> Steps:
    if parent.optional_vars is None:
        return STOP
    return edges.into(parent.optional_vars, use.scope.facts.parents[parent], use)


def _attribute(use: Use[Any], parent: ast.Attribute, _: Edges) -> Iterator[Step]:
    """What a container gives; of the value itself, an attribute is something else."""
    if use.path[:1] == (f".{parent.attr}",):
        yield use.at(parent, use.path[1:])
    elif use.path and use.method is not None:
        yield from _method(use, *use.method)


def _method(use: Use[Any], name: str, call: ast.Call) -> Iterator[Step]:
    match name:
        case "get" | "pop" | "setdefault" if call.args:
            found = use.opened(key_of(call.args[0]))
            if found is not None:
                yield found.at(call)
        case "values":
            yield use.at(call, (ANY, *use.path[1:]))
        case "items":
            yield use.at(call, (ANY, 1, *use.path[1:]))
        case "copy":
            yield use.at(call)
        case "result" | "get" if use.path[0] == _RESULT:
            yield use.at(call, use.path[1:])


def _item(use: Use[Any], parent: ast.Subscript, _: Edges) -> Iterator[Step]:
    if parent.value is not use.node:
        return
    opened = use if isinstance(parent.slice, ast.Slice) and use.path else use.opened(key_of(parent.slice))
    if opened is not None:
        yield _anywhere(opened).at(parent) if opened is use else opened.at(parent)


def _passed(use: Use[Any], parent: ast.Call | ast.keyword, edges: Edges) -> Iterator[Step]:
    call = use.call
    if call is None:
        if not isinstance(parent, ast.Call):  # a keyword of a class definition
            yield ESCAPED
        elif use.path[:1] == (CALLED,):
            yield use.at(parent, use.path[1:])
        return
    name, position = None, argument_place(call, use.node)
    if isinstance(parent, ast.keyword):
        key = parent.arg if parent.arg is not None else next(iter(use.path), None)
        opened = use if parent.arg is not None else use.opened(key)  # `**mapping`
        name, use = (key, opened) if isinstance(key, str) and opened is not None else (None, use)
    if (name is None and position is None) or name == ANY:
        yield ESCAPED
        return
    argument = Argument(call, name, position)
    for callee in edges.program.values.callees(call, use.scope):
        yield from _given(use, argument, callee, edges)


def _given(use: Use[Any], argument: Argument, callee: str | Scope | None, edges: Edges) -> Steps:
    judged = edges.passed(use, argument, callee, edges)
    if judged is not None:
        return judged
    if not isinstance(callee, Scope):
        return _outside(use, argument, callee, edges)
    is_class = callee.kind == "class"
    return _constructed(use, argument, callee, edges) if is_class else edges.parameter(argument, callee, use)


def _constructed(use: Use[Any], argument: Argument, owner: Scope, edges: Edges) -> Iterator[Step]:
    constructor = edges.program.names.method(owner, "__init__")
    if constructor is not None:
        yield from edges.parameter(argument, constructor, use)
        return
    known = fields(owner)  # of a data class or named tuple, which keeps it in a field
    place = argument.position if argument.position is not None else len(known)
    name = argument.name or (known[place] if place < len(known) else None)
    if name is None:
        yield ESCAPED
        return
    yield from edges.attribute(owner, name, use)
    yield use.inside(f".{name}").at(argument.call)


def _outside(use: Use[Any], argument: Argument, callee: str | None, edges: Edges) -> Steps:
    """Built-in containers, and `functools.partial`."""
    call, name, position = argument
    match callee:
        case "functools.partial" if call.args and position != 0:
            function = edges.program.resolve(call.args[0], use.scope)
            if isinstance(function, Scope) and function.kind == "function":
                rest = Argument(call, name, None if position is None else position - 1)
                return edges.parameter(rest, function, use)
        case "builtins.dict" if name is not None:
            return (use.inside(name).at(call),)
        case "builtins.dict" if use.path:
            return (use.at(call),)
        case "builtins.enumerate" if use.path:
            return (use.at(call, (ANY, 1, *use.path[1:])),)
        case "builtins.zip" if use.path:
            return (use.at(call, (ANY, position, *use.path[1:])),)
        case str() if callee in SAME_ITEMS and use.path:
            return ((use if callee in ("builtins.list", "builtins.tuple") else _anywhere(use)).at(call),)
        case None if isinstance(call.func, ast.Attribute):
            return _method_of_container(use, argument, call.func, edges)
    return (ESCAPED,)


def _method_of_container(use: Use[Any], argument: Argument, method: ast.Attribute, edges: Edges) -> Steps:
    """`items.append(x)` and the like."""
    call, name, position = argument
    match method.attr:
        case "append" | "appendleft" | "add" | "put" | "insert" if position == _ADDS[method.attr]:
            return edges.into(method.value, call, use.inside(ANY))
        case "setdefault" if position == 1:
            return edges.into(method.value, call, use.inside(key_of(call.args[0])))
        case "update" if name is not None:
            return edges.into(method.value, call, use.inside(name))
        case "update" | "extend" | "extendleft" if use.path:
            return edges.into(method.value, call, _anywhere(use))
    return (ESCAPED,)


def _ignored(*_: object) -> Steps:
    return STOP


_KINDS: dict[type, Callable[[Use[Any], Any, Edges], Steps]] = {
    ast.Assign: _assigned, ast.NamedExpr: _named,
    ast.AnnAssign: lambda use, parent, edges: edges.into(parent.target, parent, use),
    ast.AugAssign: lambda use, parent, edges: (  # `items += [x]`
        edges.into(parent.target, parent, _anywhere(use)) if use.path else (ESCAPED,)
    ),
    ast.IfExp: _same, ast.BoolOp: _same, ast.Await: _same, ast.BinOp: _summed,
    ast.Tuple: _packed, ast.List: _packed, ast.Dict: _entry, ast.Starred: _starred,
    ast.ListComp: _element, ast.SetComp: _element, ast.GeneratorExp: _element, ast.DictComp: _element,
    ast.For: _iterated, ast.AsyncFor: _iterated, ast.comprehension: _generated, ast.withitem: _entered,
    ast.Return: lambda use, _, edges: edges.returned(use), ast.Lambda: _given_by,
    ast.Yield: lambda use, _, edges: edges.returned(use.inside(ANY)),
    ast.YieldFrom: lambda use, _, edges: edges.returned(_anywhere(use)) if use.path else STOP,
    ast.Attribute: _attribute, ast.Subscript: _item, ast.Call: _passed, ast.keyword: _passed,
    # Looking at a value, or computing another one from it, does not let it go.
    ast.Compare: _ignored, ast.Expr: _ignored, ast.Assert: _ignored, ast.If: _ignored, ast.While: _ignored,
    ast.UnaryOp: _ignored, ast.FormattedValue: _ignored, ast.Delete: _ignored,
}  # fmt: skip
_EDGES = by_kind(_KINDS)
