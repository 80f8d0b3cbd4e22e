"""Where a value goes from the place that makes it: names, attributes, containers, arguments and returns.

`values` asks where a value came from; this asks the other way round, for an object that others hold: a
sampler is passed to a loader, the loader is returned, unpacked, stored on `self` and iterated somewhere
else. A value that goes where it cannot be followed has `escaped`: a rule that needs to know all its uses
then stays silent.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from torchrepro_lint.dataflow.argument_flow import ANY, Enters, Held, Iterates, Kept, Lost, Target, Value, passed, steps
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.references import attribute_reads, call_sites, variable_reads
from torchrepro_lint.index import ModuleFacts, Scope

MAX_STEPS = 600
_IGNORED = (
    ast.Compare,
    ast.Expr,
    ast.Assert,
    ast.If,
    ast.While,
    ast.UnaryOp,
    ast.FormattedValue,
    ast.Delete,
    ast.BinOp,
)


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A name, or an attribute of a class (`owner`), that holds the object through `chain`."""

    name: str
    owner: Scope
    chain: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Flow:
    """What was seen of the followed object: where it, or what holds it, is `iterated`; which attributes of
    it are used (`called`, by name); what holds it; and the calls by which it `entered` each function."""

    iterated: list[tuple[ast.AST, Scope]] = field(default_factory=list)
    called: dict[str, list[tuple[ast.Attribute, Scope]]] = field(default_factory=dict)
    holders: list[Holder] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    entered: dict[int, list[tuple[ast.Call, Scope]]] = field(default_factory=dict)
    escaped: bool = False

    def calls_of(self, program: Program, function: Scope) -> list[tuple[ast.Call, Scope]]:
        """The calls that brought the object into a function, else every call of it that can be seen."""
        return self.entered.get(id(function)) or call_sites(program, function) or []


def follow(program: Program, node: ast.expr, scope: Scope) -> Flow:
    """Everything that is done with the value of `node`."""
    follower = _Follower(program)
    follower.enqueue(node, scope.facts, Held())
    return follower.run()


class _Follower:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.flow = Flow()
        self._pending: list[tuple[ast.AST, ModuleFacts, Held]] = []
        self._seen: set[tuple[int, Held]] = set()
        self._bound: set[tuple[int, str, Held]] = set()

    def enqueue(self, node: ast.AST, facts: ModuleFacts, held: Held) -> None:
        """Look, later, at what is done with the value of `node`."""
        if (id(node), held) not in self._seen:
            self._seen.add((id(node), held))
            self._pending.append((node, facts, held))

    def run(self) -> Flow:
        """Follow until nothing is left, or too much was seen to know."""
        while self._pending and not self.flow.escaped:
            if len(self._seen) > MAX_STEPS:
                self.flow.escaped = True
            node, facts, held = self._pending.pop(0)
            self.flow.files.add(str(facts.source.path))
            self._used(node, facts, held)
        return self.flow

    # -- one use -------------------------------------------------------------------------------------------
    def _used(self, node: ast.AST, facts: ModuleFacts, held: Held) -> None:
        parent = facts.parents[node]
        scope = facts.scope_of(node)
        match parent:
            case ast.Assign(targets=targets):
                for target in targets:
                    self._bind(target, scope, held)
            case ast.AnnAssign(target=target):
                self._bind(target, scope, held)
            case ast.NamedExpr(target=target):
                self._bind(target, scope, held)
                self.enqueue(parent, facts, held)
            case ast.IfExp() | ast.BoolOp() | ast.Await():
                if node is not getattr(parent, "test", None):
                    self.enqueue(parent, facts, held)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                self.enqueue(parent, facts, held.inside(items.index(node)))  # type: ignore[arg-type]
            case ast.DictComp(value=item) | ast.ListComp(elt=item) if item is node:
                self.enqueue(parent, facts, held.inside(ANY))
            case ast.Dict():
                self._entry(node, parent, facts, held)
            case ast.keyword() | ast.Call():
                self._argument(node, parent, facts, scope, held)
            case ast.Return():
                self._returned(scope, held)
            case ast.Attribute():
                self._attribute(parent, facts, scope, held)
            case ast.Subscript(value=value):
                if value is node:
                    self._item(parent, facts, held)
            case ast.For() | ast.AsyncFor() | ast.comprehension() | ast.YieldFrom():
                self._iterated(node, parent, scope, held)
            case _ if not isinstance(parent, _IGNORED):
                self.flow.escaped = True

    def _entry(self, node: ast.AST, display: ast.Dict, facts: ModuleFacts, held: Held) -> None:
        for key, value in zip(display.keys, display.values, strict=True):
            if value is node and isinstance(key, ast.Constant):
                self.enqueue(display, facts, held.inside(key.value))
            elif value is node:
                self.enqueue(display, facts, held.inside(ANY))

    def _iterated(self, node: ast.AST, parent: ast.AST, scope: Scope, held: Held) -> None:
        if not held.path:
            self.flow.iterated.append((node, scope))
        elif isinstance(held.path[0], str) and held.path[0] != ANY:
            return  # iterating a dict gives its keys
        elif isinstance(parent, ast.For):
            self._bind(parent.target, scope, Held(held.chain, held.path[1:]))
        else:
            self.flow.escaped = True

    def _item(self, subscript: ast.Subscript, facts: ModuleFacts, held: Held) -> None:
        key = subscript.slice.value if isinstance(subscript.slice, ast.Constant) else ANY
        opened = held.opened(key)
        if opened is not None:
            self.enqueue(subscript, facts, opened)

    def _attribute(self, attribute: ast.Attribute, facts: ModuleFacts, scope: Scope, held: Held) -> None:
        name = attribute.attr
        if held.path:
            opened = held.opened(f".{name}")
            call = facts.parents.get(attribute)
            if opened is not None:
                self.enqueue(attribute, facts, opened)
            elif name in ("get", "pop") and isinstance(call, ast.Call) and call.args:
                key = call.args[0]
                found = held.opened(key.value if isinstance(key, ast.Constant) else ANY)
                if found is not None:
                    self.enqueue(call, facts, found)
            elif name in ("values", "items") and isinstance(call, ast.Call):
                item = held.path[1:] if name == "values" else (1, *held.path[1:])
                self.enqueue(call, facts, Held(held.chain, (ANY, *item)))
        elif held.chain and name == held.chain[0]:
            self.enqueue(attribute, facts, Held(held.chain[1:]))
        else:
            self.flow.called.setdefault(name, []).append((attribute, scope))

    # -- binding -------------------------------------------------------------------------------------------
    def _bind(self, target: ast.expr, scope: Scope, held: Held) -> None:
        match target:
            case ast.Name(id=name):
                owner = scope.binding_scope(name)
                if owner is not None:
                    self._variable(name, owner, held)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for i, item in enumerate(items):
                    opened = held.opened(i)
                    if opened is not None:
                        self._bind(item, scope, opened)
            case ast.Attribute(value=value, attr=attr) if scope.is_self(value):
                assert scope.method_class is not None
                self._class_attribute(attr, scope.method_class, held)
            case ast.Subscript(value=value, slice=key):
                self._bind(value, scope, held.inside(key.value if isinstance(key, ast.Constant) else ANY))
            case _:
                self.flow.escaped = True

    def _new(self, name: str, owner: Scope, held: Held) -> bool:
        """Whether this name was not yet known to hold it so; notes the holder."""
        key = (id(owner), name, held)
        if key in self._bound:
            return False
        self._bound.add(key)
        if held.chain is not None and not held.path:
            self.flow.holders.append(Holder(name, owner, held.chain))
        return True

    def _variable(self, name: str, owner: Scope, held: Held) -> None:
        """Follow every read of a variable."""
        if self._new(name, owner, held):
            self._enqueue_all(variable_reads(self.program, name, owner), held)

    def _class_attribute(self, name: str, owner: Scope, held: Held) -> None:
        """Follow every read of `self.name`, and of `obj.name` where `obj` is known to be an `owner`."""
        if self._new(name, owner, held):
            self._enqueue_all(attribute_reads(self.program, name, owner), held)

    def _enqueue_all(self, reads: list[tuple[ast.expr, ModuleFacts]] | None, held: Held) -> None:
        self.flow.escaped |= reads is None
        for node, facts in reads or ():
            self.enqueue(node, facts, held)

    # -- calls ---------------------------------------------------------------------------------------------
    def _returned(self, scope: Scope, held: Held) -> None:
        function = scope.function
        node = function.node
        owner = function.parent
        if owner is not None and isinstance(node, ast.FunctionDef) and _is_property(node):
            self._class_attribute(node.name, owner, held)
            return
        calls = call_sites(self.program, function)
        if calls is None:
            self.flow.escaped = True
        for call, caller in calls or ():
            self.enqueue(call, caller.facts, held)

    def _argument(self, node: ast.AST, parent: ast.AST, facts: ModuleFacts, scope: Scope, held: Held) -> None:
        if getattr(parent, "func", None) is node:
            return
        given = passed(node, parent, facts, held)
        if given is None:
            self.flow.escaped = True
            return
        for step in steps(self.program, given, scope):
            match step:
                case Value(node=value, held=now):
                    self.enqueue(value, facts, now)
                case Target(target=target, held=now):
                    self._bind(target, scope, now)
                case Enters(function=function, name=name, held=now):
                    self.flow.entered.setdefault(id(function), []).append((given.call, scope))
                    self._variable(name, function, now)
                case Kept(owner=owner, name=name, held=now):
                    self._class_attribute(name, owner, now)
                case Iterates():
                    self.flow.iterated.append((given.call, scope))
                case Lost():
                    self.flow.escaped = True


def _is_property(function: ast.FunctionDef) -> bool:
    last = [d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in function.decorator_list]
    return "property" in last or "cached_property" in last
