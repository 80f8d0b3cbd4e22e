"""The domain of what a dict holds that is unpacked into a call: every entry that it has on any path, also where it is
filled step by step or is a function's `**kwargs`; None where there may be others. Knows nothing of loaders.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torchrepro_lint.dataflow.binding import CONSTRUCTOR
from torchrepro_lint.dataflow.domain import Domain, Of, Written
from torchrepro_lint.dataflow.grafts import graft, written_entries
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reaching_definitions import reads
from torchrepro_lint.dataflow.sites import CallSite, Site
from torchrepro_lint.dataflow.store import remembered_in_file
from torchrepro_lint.index import ITEM, Binding, FunctionNode, ModuleFacts, Parents, Scope, last_name

MAX_UPDATES = 64  # calls of `update` that fill one name: what more of them leave in it is unknown
Entries: TypeAlias = "dict[str, Site] | None"


def entries_of(mapping: ast.expr, scope: Scope, program: Program) -> Entries:
    """What a dict can hold."""
    return _unpacked(mapping, scope, lambda node, at: program.evaluate(node, at, Mappings(program)), program)


@dataclass(frozen=True)
class Mappings(Domain[Entries]):
    """Joined by "has one of them"; of two values for one key, the later counts that is neither off nor None."""

    program: Program

    def join(self, values: Sequence[Entries]) -> Entries:
        on = self._merged([e and {k: v for k, v in e.items() if not _is_off(v)} for e in values])
        every = self._merged(values)
        return every if every is None or on is None else every | on

    def _merged(self, values: Sequence[Entries]) -> Entries:
        """What is put into one dict, in order: of two values for one key, the later counts."""
        merged: dict[str, Site] = {}
        for entries in values:
            if entries is None:
                return None
            merged |= entries
        return merged

    def display(self, node: Written, scope: Scope, of: Of[Entries]) -> Entries:
        match node:
            case ast.Dict(keys=keys, values=values):
                return self._merged([_entry(k, v, scope, of, self.program) for k, v in zip(keys, values, strict=True)])
            case ast.DictComp(
                key=ast.Name(id=key),
                value=ast.Name(id=value),
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
                        iter=ast.Call(func=ast.Attribute(value=whole, attr="items"), args=[]),
                    )
                ],
            ) if (key, value) == (first, second):  # `{k: v for k, v in options.items() if v is not None}`
                return of(whole, scope)
        return None

    def operator(self, node: ast.AST, scope: Scope, of: Of[Entries]) -> Entries:
        match node:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._merged([of(left, scope), of(right, scope)])
            case ast.AugAssign(op=ast.BitOr(), value=value):
                return of(value, scope)
        return None

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Entries]) -> Entries:
        is_update = isinstance(scope.facts.parents[call], ast.Expr) and last_name(call.func) == "update"
        return self._given(call, scope, of) if is_update else None

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[Entries]) -> Entries:
        return self._given(call, scope, of) if callee == "builtins.dict" else None

    def _given(self, call: ast.Call, scope: Scope, of: Of[Entries]) -> Entries:
        """What `dict({...}, b=2)` and `update` take in."""
        keywords = (_keyword(k, scope, of, self.program) for k in call.keywords)
        return self._merged([*(of(a, scope) for a in call.args), *keywords])

    # -- filled step by step ------------------------------------------------------------------------------------
    def named(self, name: str, found: Entries, expr: ast.AST, scope: Scope) -> Entries:
        if found is None or not isinstance(expr, ast.Name):
            return found
        return self._merged([found, *self._added(name, scope)])

    def _added(self, name: str, scope: Scope) -> Iterator[Entries]:
        """What `name["key"] = value` and `name.update(...)` add, everywhere in the file where the name is the same."""
        owner = scope.binding_scope(name)
        items, calls = _filled(scope.facts)
        yield items.get((owner, name), {})
        updates = calls.get((owner, name), ())
        if len(updates) > MAX_UPDATES:
            self.program.store.cut("dicts that are updated too often", (scope.facts.source.rel, name))
            yield None
            return
        for call, where in updates:
            yield self.program.evaluate(call, where, self)

    # -- `**kwargs` of a function -------------------------------------------------------------------------------
    def gathered(self, binding: Binding, function: Scope, of: Of[Entries]) -> Entries:
        """What all calls of a function of the project pass beyond its parameters, for the `**kwargs` that it only
        hands on."""
        if not _is_handed_on(binding, function):
            return None
        calls = self.program.callers_of(function)
        passed = [(k, caller) for call, caller in calls or () for k in call.keywords]
        extra = [(k, caller) for k, caller in passed if k.arg is None or k.arg not in function.bindings]
        known = [(k, caller) for k, caller in extra if not self._is_of_no_call(k, caller)]
        if not calls or (extra and not known):
            return None
        return self.join([_keyword(k, caller, of, self.program) for k, caller in known])

    def _is_of_no_call(self, keyword: ast.keyword, scope: Scope) -> bool:
        """Whether this hands on the `**kwargs` of a function that nothing in sight calls: `**kwargs` of its own."""
        name = keyword.value.id if keyword.arg is None and isinstance(keyword.value, ast.Name) else ""
        node, function = scope.function.node, scope.function
        is_own = isinstance(node, FunctionNode) and node.args.kwarg is not None and node.args.kwarg.arg == name
        return is_own and function.own_name != CONSTRUCTOR and self.program.callers_of(function) == []


_Named: TypeAlias = "tuple[Scope | None, str]"
_Filled: TypeAlias = "tuple[dict[_Named, Entries], dict[_Named, list[CallSite]]]"


@remembered_in_file
def _filled(facts: ModuleFacts) -> _Filled:
    """What a file puts into what names hold: key by key, of which the last counts, and by `update`; None where a key is
    not written out, as in `options[key] = value`."""
    items: dict[_Named, Entries] = {}
    calls: dict[_Named, list[CallSite]] = {}
    for key, item in ((key, item) for key, sets in facts.subscript_sets.items() for item in sets):
        if isinstance(holder := item.target.value, ast.Name):
            name = item.scope.binding_scope(holder.id), holder.id
            held = items.setdefault(name, {})
            if item.value is None or key == ITEM:
                items[name] = None
            elif held is not None:
                held[key] = Site(item.value, item.scope)
    for call, where in facts.calls.get("setdefault", ()):
        if isinstance(call.func, ast.Attribute) and isinstance(holder := call.func.value, ast.Name):
            name = where.binding_scope(holder.id), holder.id
            held = items.setdefault(name, {})
            match call.args:
                case [ast.Constant(value=str(key)), value] if held is not None:
                    held.setdefault(key, Site(value, where))
                case _:
                    items[name] = None
    for call, where in facts.calls.get("update", ()):
        if isinstance(call.func, ast.Attribute) and isinstance(holder := call.func.value, ast.Name):
            calls.setdefault((where.binding_scope(holder.id), holder.id), []).append((call, where))
    return items, calls


def _entry(key: ast.expr | None, value: ast.expr, scope: Scope, of: Of[Entries], program: Program) -> Entries:
    if key is None:  # {**more}
        return _unpacked(value, scope, of, program)
    return {key.value: Site(value, scope)} if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _keyword(keyword: ast.keyword, scope: Scope, of: Of[Entries], program: Program) -> Entries:
    if keyword.arg is None:
        return _unpacked(keyword.value, scope, of, program)
    return {keyword.arg: Site(keyword.value, scope)}


def _is_off(value: Site) -> bool:
    return isinstance(value.node, ast.Constant) and not value.node.value


def _unpacked(mapping: ast.expr, scope: Scope, of: Of[Entries], program: Program) -> Entries:
    """What `**mapping` takes in: what it holds for certain, else by default."""
    found = of(mapping, scope)
    found = found if found is not None else _by_default(mapping, scope, program)
    configured = (k for k, v in (found or {}).items() if v.scope.facts.source.kind == "configuration")
    return None if any(program.values.configured.sets(mapping, key, scope) for key in configured) else found


def _by_default(mapping: ast.expr, scope: Scope, program: Program) -> Entries:
    """What a mapping holds that configuration files give and the user may override. What is in it is known only by
    default, too."""
    held = program.defaults.configured_entries(mapping, scope) if program.defaults is not None else None
    sites = (site for display in held or () for site in written_entries(display.node, display.scope))
    return {key: Site(graft(value), value.scope) for key, value in sites} if held else None


def _is_handed_on(binding: Binding, function: Scope) -> bool:
    """Whether it is the `**kwargs` of a function or method, which does nothing but unpack, read and fill it. What a
    constructor hands on is looked for where its class is called."""
    node, outer = function.node, function.parent
    if not isinstance(node, FunctionNode) or outer is None or outer.kind not in ("module", "class"):
        return False
    if function.own_name == CONSTRUCTOR:
        return False
    if node.args.kwarg is not binding.node or len(function.bindings[node.args.kwarg.arg]) != 1:
        return False
    parents = function.facts.parents
    return all(_keeps(parents.get(site.node), site.node, parents) for site in reads(node.args.kwarg.arg, function))


def _keeps(holder: ast.AST | None, held: ast.AST, parents: Parents) -> bool:
    """Whether nothing is taken out of a dict where it is read."""
    match holder:
        case ast.keyword(arg=None) | ast.Subscript() | ast.Compare():
            return not isinstance(parents.get(holder), ast.Delete)
        case ast.Dict(keys=keys, values=values):
            return any(key is None and value is held for key, value in zip(keys, values, strict=True))
        case ast.Attribute(attr=method):
            return method in ("get", "items", "keys", "values", "update")
        case ast.Call(func=function):
            return function is not held and last_name(function) in ("dict", "update", "len")
    return False
