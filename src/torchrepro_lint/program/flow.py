"""Where a value goes from the place that makes it: through names, attributes, containers, arguments and returns.

`values` asks where a value came from; this asks the other way round, for an object that others hold: a sampler is
passed to a loader, the loader is returned, unpacked, stored on `self` and iterated somewhere else. A value that
goes where it cannot be followed has `escaped`: a rule that needs to know all its uses then stays silent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.names import Variable
from torchrepro_lint.program.program import Program

MAX_STEPS = 600
MAX_FILES = 40
ANY = "*"
_LOGGING = frozenset({"info", "debug", "warning", "log", "critical", "error", "exception", "print"})
_IGNORED = (ast.Compare, ast.Expr, ast.Assert, ast.If, ast.While, ast.UnaryOp, ast.FormattedValue, ast.Delete, ast.BinOp)


@dataclass(frozen=True, slots=True)
class Held:
    """How a value holds the followed object.

    `path` leads into containers first (keys, positions, attribute names as `.name`, ANY), then `chain` names the
    attributes that lead to the object; it is None for something that only iterates it.
    """

    chain: tuple[str, ...] | None = ()
    path: tuple[object, ...] = ()

    def inside(self, key: object) -> Held:
        """Held by a container under `key`."""
        return Held(self.chain, (key, *self.path))

    def opened(self, key: object) -> Held | None:
        """What is under `key`; None when it is something else."""
        if self.path and (self.path[0] == key or ANY in (self.path[0], key)):
            return Held(self.chain, self.path[1:])
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A name, or an attribute of a class (`owner`), that holds the object through `chain`."""

    name: str
    owner: Scope
    chain: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Flow:
    """What was seen of the followed object. `iterated` and `called` are places; `called` maps a method's name to them."""

    iterated: list[tuple[ast.AST, Scope]] = field(default_factory=list)
    called: dict[str, list[tuple[ast.Attribute, Scope]]] = field(default_factory=dict)
    holders: list[Holder] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    entered: dict[int, list[tuple[ast.Call, Scope]]] = field(default_factory=dict)
    escaped: bool = False

    def calls_of(self, program: Program, function: Scope) -> list[tuple[ast.Call, Scope]]:
        """The calls that brought the object into a function, else every call of it that can be seen."""
        return self.entered.get(id(function)) or call_sites(program, function) or []


def call_sites(program: Program, function: Scope) -> list[tuple[ast.Call, Scope]] | None:
    """The calls of a function, those of a method on an instance that is known included; None when unknown."""
    found = program.callers_of(function)
    if found is None or function.self_name is None or function.name.endswith(".__init__"):
        return found
    name = function.name.rpartition(".")[2]
    known = {id(call) for call, _ in found}
    for path in program.text.mentioning(name) or [Path(function.facts.source.path)]:
        facts = function.facts if Path(path) == Path(function.facts.source.path) else program.load(str(path))
        for call, scope in facts.calls.get(name, ()) if facts is not None else ():
            if id(call) not in known and isinstance(call.func, ast.Attribute):
                if function in program.values.callees(call, scope):
                    found = [*found, (call, scope)]
    return found


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

    # -- one use --------------------------------------------------------------------------------------------------
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
            case ast.Dict():
                self._entry(node, parent, facts, held)
            case ast.keyword() | ast.Call():
                self._argument(node, parent, facts, scope, held)
            case ast.Return():
                self._returned(facts, scope, held)
            case ast.Attribute():
                self._attribute(parent, facts, scope, held)
            case ast.Subscript(value=value) if value is node:
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
        elif isinstance(parent, ast.For) and isinstance(parent.target, ast.Name):
            opened = held.opened(ANY)
            if opened is not None:
                self._bind(parent.target, scope, opened)
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
            elif name in ("values", "items"):
                self.flow.escaped = True
        elif held.chain and name == held.chain[0]:
            self.enqueue(attribute, facts, Held(held.chain[1:]))
        else:
            self.flow.called.setdefault(name, []).append((attribute, scope))

    # -- binding --------------------------------------------------------------------------------------------------
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
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if _is_self(name, scope):
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
        if not self._new(name, owner, held):
            return
        facts = owner.facts
        for node in ast.walk(owner.node):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                if facts.scope_of(node).binding_scope(name) is owner:
                    self.enqueue(node, facts, held)
        if owner.kind == "module":
            self._imported(name, owner, held)

    def _imported(self, name: str, owner: Scope, held: Held) -> None:
        """Follow the reads of a module's variable in other files."""
        for facts in self._files_with(name):
            if facts is owner.facts:
                continue
            spelled = {name, *facts.aliases.get(name, ())}
            for node in ast.walk(facts.tree):
                last = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
                if last in spelled and isinstance(getattr(node, "ctx", None), ast.Load):
                    assert isinstance(node, ast.expr)
                    target = self.program.resolve(node, facts.scope_of(node))
                    if isinstance(target, Variable) and target.scope is owner:
                        self.enqueue(node, facts, held)

    def _class_attribute(self, name: str, owner: Scope, held: Held) -> None:
        """Follow every read of `self.name`, and of `obj.name` where `obj` is known to be an `owner`."""
        if not self._new(name, owner, held):
            return
        for facts in self._files_with(name):
            for node in ast.walk(facts.tree):
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                    if self._belongs(node, facts, owner):
                        self.enqueue(node, facts, held)

    def _belongs(self, node: ast.Attribute, facts: ModuleFacts, owner: Scope) -> bool:
        scope = facts.scope_of(node)
        if isinstance(node.value, ast.Name) and _is_self(node.value.id, scope):
            return self._related(scope.method_class, owner)
        made = self.program.instance_of(node.value, scope) or ()
        return any(isinstance(m, Scope) and m.kind == "class" and self._related(m, owner) for m in made)

    def _related(self, one: Scope | None, other: Scope) -> bool:
        if one is None:
            return False
        return one is other or other in self.program.names.bases(one) or one in self.program.names.bases(other)

    def _files_with(self, word: str) -> Iterator[ModuleFacts]:
        paths = self.program.text.mentioning(word)
        if paths is None or len(paths) > MAX_FILES:
            self.flow.escaped = True
            return
        for path in sorted({str(p) for p in paths} | self.flow.files):
            facts = self.program.load(str(Path(path)))
            if facts is not None:
                yield facts

    # -- calls ----------------------------------------------------------------------------------------------------
    def _returned(self, facts: ModuleFacts, scope: Scope, held: Held) -> None:
        function = scope.function
        node = function.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and function.parent is not None:
            if any(_is_property(d) for d in node.decorator_list) and function.parent.kind == "class":
                self._class_attribute(node.name, function.parent, held)
                return
        calls = call_sites(self.program, function)
        if calls is None:
            self.flow.escaped = True
        for call, caller in calls or ():
            self.enqueue(call, caller.facts, held)

    def _argument(self, node: ast.AST, parent: ast.AST, facts: ModuleFacts, scope: Scope, held: Held) -> None:
        call = facts.parents[parent] if isinstance(parent, ast.keyword) else parent
        if not isinstance(call, ast.Call):  # a keyword of a class definition
            self.flow.escaped = True
            return
        if call.func is node:
            return
        name = parent.arg if isinstance(parent, ast.keyword) else None
        position = call.args.index(node) if node in call.args else None
        if position is None and name is None:  # `**mapping`
            key = held.path[0] if held.path else None
            opened = held.opened(key)
            if opened is None or not isinstance(key, str) or key == ANY:
                self.flow.escaped = True
                return
            name, held = key, opened
        for callee in self.program.values.callees(call, scope):
            self._handed(call, callee, name, position, facts, held)

    def _handed(
        self, call: ast.Call, callee: str | Scope | None, name: str | None, position: int | None,
        facts: ModuleFacts, held: Held,
    ) -> None:  # fmt: skip
        """The value is passed to `callee` by keyword `name`, or at `position`."""
        match callee:
            case str():
                self._external(call, callee, name, position, facts, held)
            case Scope(kind="class"):
                self._constructed(call, callee, name, position, facts, held)
            case Scope():
                self._parameter(call, callee, name, position, facts, held)
            case _:
                self._unresolved(call, name, facts, held)

    def _external(
        self, call: ast.Call, callee: str, name: str | None, position: int | None, facts: ModuleFacts, held: Held
    ) -> None:
        table = catalogue.table("distributed")
        holder = _holder(callee.removesuffix(".__init__"), name, position)
        if holder is not None and not held.path:
            kept = held.chain if held.chain is None else (holder, *held.chain)
            self.enqueue(call, facts, Held(kept))
        elif callee in table["wrappers"]["names"]:
            if callee == "builtins.iter" and not held.path:
                self.flow.iterated.append((call, facts.scope_of(call)))
            self.enqueue(call, facts, Held(None, held.path) if not held.path else held)
        elif callee == "builtins.dict" and name is not None:
            self.enqueue(call, facts, held.inside(name))
        elif callee in ("builtins.list", "builtins.tuple") and held.path:
            self.enqueue(call, facts, held)
        elif callee not in table["lookers"]["names"] and not callee.startswith("logging."):
            self.flow.escaped = True

    def _constructed(
        self, call: ast.Call, owner: Scope, name: str | None, position: int | None, facts: ModuleFacts, held: Held
    ) -> None:
        bases = [b for b in self.program.names.bases(owner) if isinstance(b, str)]
        constructor = self.program.names.class_member(owner, "__init__")
        holder = next((h for b in bases if (h := _holder(b, name, position if constructor is None else None))), None)
        if holder is not None and not held.path:
            self.enqueue(call, facts, Held(held.chain if held.chain is None else (holder, *held.chain)))
        if isinstance(constructor, Scope):
            self._parameter(call, constructor, name, position, facts, held)
            if holder is None and isinstance(self.program.names.class_member(owner, "__iter__"), Scope):
                self.enqueue(call, facts, Held(None, held.path))
        elif holder is None and name is not None:
            self.enqueue(call, facts, held.inside(f".{name}"))  # a data class
        elif holder is None:
            self.flow.escaped = True

    def _parameter(
        self, call: ast.Call, function: Scope, name: str | None, position: int | None, facts: ModuleFacts, held: Held
    ) -> None:
        node = function.node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            self.flow.escaped = True
            return
        names = [a.arg for a in node.args.posonlyargs + node.args.args]
        if name is None and position is not None:
            place = position + (1 if function.self_name else 0)
            name = names[place] if place < len(names) else None
        if name is None or name not in {*names, *(a.arg for a in node.args.kwonlyargs)}:
            self.flow.escaped = True  # goes into *args or **kwargs
            return
        self.flow.entered.setdefault(id(function), []).append((call, facts.scope_of(call)))
        self._variable(name, function, held)

    def _unresolved(self, call: ast.Call, name: str | None, facts: ModuleFacts, held: Held) -> None:
        """A method of something that is not known; those of lists, dicts and loggers are."""
        function = call.func
        if not isinstance(function, ast.Attribute):
            self.flow.escaped = True
        elif function.attr == "append":
            self._bind(function.value, facts.scope_of(call), held.inside(ANY))
        elif function.attr == "update" and (name or held.path):
            self._bind(function.value, facts.scope_of(call), held.inside(name) if name else held)
        elif function.attr not in _LOGGING:
            self.flow.escaped = True


def _holder(callee: str, name: str | None, position: int | None) -> str | None:
    """The attribute by which a loader or batch sampler keeps the argument."""
    rows: list[dict[str, Any]] = catalogue.table("distributed")["holders"]
    for row in rows:
        if callee in row["names"] and (name == row["argument"] if name else position == row.get("position", -1)):
            return str(row["held"])
    return None


def _is_self(name: str, scope: Scope) -> bool:
    owner = scope.binding_scope(name)
    return owner is not None and owner.self_name == name


def _is_property(decorator: ast.expr) -> bool:
    last = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return last in ("property", "cached_property")
