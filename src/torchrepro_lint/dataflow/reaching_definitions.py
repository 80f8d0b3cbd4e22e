"""Reaching definitions: which bindings of a name a read of it may see, and which reads may see a binding.

One pass over the statements of a function works it out for all its names. Bindings in the two arms of an `if` do not
reach one another's reads; any binding in a loop may reach the loop's start; any in a `try` its handlers. In doubt
(another function, a lambda, dead code), all bindings reach. Knows one function of one file.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from torchrepro_lint.dataflow.sites import Site, start_of
from torchrepro_lint.index import Binding, Comprehension, FunctionNode, LoopNode, Scope, children
from torchrepro_lint.index.binding import all_arguments

MAX_BINDINGS = 64  # that reach one read: with more, all of the name's are taken to
_Name: TypeAlias = "tuple[Scope, str]"
_Seen: TypeAlias = "frozenset[Binding] | None"  # None: any of them


def reaching(bindings: Sequence[Binding], read: ast.AST, owner: Scope, scope: Scope) -> list[Binding]:
    """Those of `bindings`, all bindings of one name of `owner`, whose value `read` in `scope` may see; never none of
    them. `x += y` hides the earlier ones. `read` is the name's own node; for other nodes, all may be seen."""
    if len(bindings) == 1 or scope.function is not owner.function:
        return list(bindings)
    known = definitions(owner)
    return known.in_order(known.seen_by(read) or ()) or list(bindings)


class Sites(list[Site]):
    """Reads of one name, in source order."""

    def __init__(self, sites: Iterable[Site] = ()) -> None:
        super().__init__(sites)
        self._inside: dict[Scope, list[Site]] = {}

    def inside(self, function: Scope) -> list[Site]:
        """Those in functions that stand inside a function or module."""
        if function not in self._inside:
            self._inside[function] = [s for s in self._among(function.node) if s.scope.function is not function]
        return self._inside[function]

    def _among(self, node: ast.AST) -> Sequence[Site]:
        if isinstance(node, ast.Module):
            return self
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        begin, end = (bisect_left(self, line, key=lambda s: s.node.lineno) for line in (first, last + 1))
        return self[begin:end]


def reads(name: str, owner: Scope) -> Sequence[Site]:
    """Where `name`, bound in `owner`, is read in the same file, in source order."""
    return definitions(owner).reads_of(name, owner).every


def reads_of_binding(name: str, owner: Scope, node: ast.AST) -> Sites:
    """Where the value that `node` (a statement, a parameter, a comprehension) binds to `name` of `owner` may be read:
    what `x += y` leaves of it included."""
    if not owner.facts.reads(owner.node).has_name(name):
        return Sites()
    uses = definitions(owner).reads_of(name, owner)
    bound = uses.bound_by(node) if len(owner.bindings[name]) > 1 else ()
    return uses.seeing(bound) if bound else uses.every


def reads_of_object(held: ast.Name, scope: Scope) -> Sites:
    """Where the object that `held` names may be read by the same name, earlier or later."""
    owner = scope.binding_scope(held.id)
    if owner is None:
        return Sites()
    known = definitions(owner)
    seen = known.seen_by(held) if scope.function is owner.function else None
    uses = known.reads_of(held.id, owner)
    return uses.every if seen is None else uses.seeing(seen)


def definitions(scope: Scope) -> Definitions:
    """The reaching definitions of the function (or module) that runs `scope`."""
    function = scope.function
    known: dict[ast.AST, Definitions] = function.facts.definitions
    if function.node not in known:
        known[function.node] = Definitions(function)
    return known[function.node]


class Definitions:
    """What each read of a name with several bindings may see, in one function."""

    def __init__(self, function: Scope) -> None:
        self._seen: dict[ast.AST, _Seen] = {}
        self._readers: dict[Binding, list[ast.Name]] = {}
        self._reads: dict[_Name, _Reads] = {}
        self._shapes: dict[Scope, dict[str, list[tuple[ast.Name, int]]]] = {}
        self._updates: dict[Binding, int] = {}
        self._order = _Pass(function, self._seen, self._readers, self._updates).run()

    def seen_by(self, read: ast.AST) -> _Seen:
        """The bindings that a read may see; None for any."""
        return self._seen.get(read)

    def updates(self, binding: Binding) -> int:
        """How many bindings of the same name in a row this one is made of: 2 for the last of `x = a`, `x = f(x)`,
        `x = g(x)`."""
        return self._updates.get(binding, 0)

    def in_order(self, seen: Iterable[Binding]) -> list[Binding]:
        """Bindings of one name, as the file has them."""
        return sorted(seen, key=self._order.__getitem__)

    def reads_of(self, name: str, owner: Scope) -> _Reads:
        """All reads of one name."""
        key = (owner, name)
        if key not in self._reads:
            self._reads[key] = _Reads(name, owner, self._seen, self._readers)
        return self._reads[key]

    def shapes(self, owner: Scope) -> dict[str, list[tuple[ast.Name, int]]]:
        """The names whose shapes are unpacked into names of a scope, where, and into how many."""
        if owner not in self._shapes:
            self._shapes[owner] = _shapes(owner)
        return self._shapes[owner]


class _Reads:
    """The reads of one name in its file. Knows the tables of `Definitions` and not these themselves, for a circle would
    keep the file's tree after its release."""

    def __init__(
        self, name: str, owner: Scope, seen: Mapping[ast.AST, _Seen], readers: Mapping[Binding, Sequence[ast.Name]]
    ) -> None:
        facts = owner.facts
        found = ((node, facts.scope_of(node)) for node in facts.reads(owner.node).of_name(name))
        self.every = Sites(Site(node, scope) for node, scope in found if scope.binding_scope(name) is owner)
        self._loose = [s for s in self.every if s.scope.function is not owner.function or seen.get(s.node) is None]
        self._sites = {site.node: site for site in self.every}
        self._by_node: dict[ast.AST, list[Binding]] = {}
        for binding in owner.bindings.get(name, ()):
            self._by_node.setdefault(binding.node, []).append(binding)
        self._readers = readers
        self._facts = facts
        self._seeing: dict[frozenset[Binding], Sites] = {}

    def bound_by(self, node: ast.AST) -> Sequence[Binding]:
        """The bindings of the name that one statement, parameter or comprehension makes."""
        return self._by_node.get(node, ())

    def seeing(self, bindings: Iterable[Binding]) -> Sites:
        """Those that may see one of these bindings, in source order."""
        asked = frozenset(bindings)
        if asked not in self._seeing:
            self._seeing[asked] = self._find_seeing(asked)
        return self._seeing[asked]

    def _find_seeing(self, bindings: frozenset[Binding]) -> Sites:
        found = {site.node: site for site in self._loose}
        pending = list(bindings)
        done = set(pending)
        while pending:
            for node in self._readers.get(pending.pop(), ()):
                if node in self._sites:
                    found[node] = self._sites[node]
                    continue
                more = [b for b in self.bound_by(self._facts.parents[node]) if b not in done]  # `x += y`
                done.update(more)
                pending += more
        return Sites(sorted(found.values(), key=lambda site: start_of(site.node)))


class _State:
    """What reaches one point. A branch is a layer of its own over what came before it."""

    def __init__(self, outer: _State | None = None) -> None:
        self.own: dict[_Name, _Seen] = {}
        self.outer = outer

    def get(self, name: _Name) -> _Seen:
        state: _State | None = self
        while state is not None:
            if name in state.own:
                return state.own[name]
            state = state.outer
        return frozenset()

    def join(self, arms: Sequence[_State]) -> None:
        """Go on after branches: with what any of them leaves behind."""
        changed = dict.fromkeys(name for arm in arms for name in arm.own)
        self.own |= {name: _union(arm.get(name) for arm in arms) for name in changed}


def _union(parts: Iterable[_Seen]) -> _Seen:
    found: frozenset[Binding] = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found if len(found) <= MAX_BINDINGS else None


class _Pass:
    """The pass over one function's statements, in the order in which they run."""

    def __init__(
        self,
        function: Scope,
        seen: dict[ast.AST, _Seen],
        readers: dict[Binding, list[ast.Name]],
        updates: dict[Binding, int],
    ) -> None:
        self._function = function
        self._seen = seen
        self._readers = readers
        self._updates = updates
        self._read_here: dict[_Name, int] = {}  # by the statement that is looked at: how often it was updated
        self._bound: dict[ast.AST, list[tuple[_Name, Binding]]] = {}
        self._several: set[_Name] = set()
        self._names: set[str] = set()  # of these
        self._places: list[tuple[ast.AST, list[tuple[_Name, Binding]]]] = []  # in the order of the lines
        self._start = _State()  # what may be bound at any time

    def run(self) -> dict[Binding, int]:
        """The places of the bindings among those of their names."""
        order: dict[Binding, int] = {}
        at_any_time = {n for scope in self._function.descend() if scope is not self._function for n in scope.outer}
        for owner in _run_here(self._function):
            for name, bindings in owner.bindings.items():
                if len(bindings) > 1:
                    self._several.add((owner, name))
                    self._names.add(name)
                    order.update((binding, place) for place, binding in enumerate(bindings))
                    for binding in bindings:
                        self._bound.setdefault(binding.node, []).append(((owner, name), binding))
                    if name in at_any_time:  # `global` in another function
                        self._bind_all([[((owner, name), b) for b in bindings]], self._start)
        if self._several:
            self._places = sorted(self._bound.items(), key=lambda item: _line(item[0]))
            self._function_body(_State(self._start))
        return order

    def _function_body(self, state: _State) -> None:
        node = self._function.node
        if isinstance(node, FunctionNode):
            for argument in all_arguments(node.args):
                self._bind(argument, state)
        if isinstance(node, FunctionNode | ast.Module):
            self._block(node.body, self._function, state)

    # -- statements ---------------------------------------------------------------------------------------------
    def _block(self, body: Sequence[ast.stmt], scope: Scope, state: _State) -> bool:
        """Run statements; False when what follows them is not reached that way."""
        return all(self._statement(statement, scope, state) for statement in body)

    def _statement(self, node: ast.stmt, scope: Scope, state: _State) -> bool:
        self._read_here.clear()
        match node:
            case ast.If():
                return self._if(node, scope, state)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, scope, state)
            case ast.Try():
                return self._try(node, scope, state)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    self._read(item, scope, state)
                self._bind(node, state)
                return self._block(body, scope, state)
            case ast.Match(subject=subject, cases=cases):
                self._read(subject, scope, state)
                for case in cases:
                    self._read(case.pattern, scope, state)
                return self._arms(([], *(case.body for case in cases)), scope, state)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for outer in (*node.decorator_list, node.args):
                    self._read(outer, scope, state)
                self._bind(node, state)
                return True
            case ast.ClassDef(body=body):
                for outer in (*node.decorator_list, *node.bases, *node.keywords):
                    self._read(outer, scope, state)
                self._block(body, scope.children.get(node, scope), state)
                self._bind(node, state)
                return True
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._name(node.target, scope, state)
        self._read(node, scope, state)
        self._bind(node, state)
        return not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue)

    def _if(self, node: ast.If, scope: Scope, state: _State) -> bool:
        self._read(node.test, scope, state)
        bodies = [node.body]
        while len(node.orelse) == 1 and isinstance(elif_ := node.orelse[0], ast.If):
            self._read(elif_.test, scope, state)
            bodies.append(elif_.body)
            node = elif_
        return self._arms([*bodies, node.orelse], scope, state)

    def _arms(self, bodies: Sequence[Sequence[ast.stmt]], scope: Scope, state: _State) -> bool:
        arms = [_State(state) for _ in bodies]
        ended = [self._block(body, scope, arm) for body, arm in zip(bodies, arms, strict=True)]
        state.join([arm for arm, goes_on in zip(arms, ended, strict=True) if goes_on])
        return any(ended)

    def _loop(self, node: LoopNode, scope: Scope, state: _State) -> bool:
        """What is bound in the loop may be seen from its start on, and after it."""
        if not isinstance(node, ast.While):
            self._read(node.iter, scope, state)
        self._may_bind(node.lineno, node.end_lineno or node.lineno, state)
        round_ = _State(state)
        if isinstance(node, ast.While):
            self._read(node.test, scope, round_)
        else:
            self._bind(node, round_)
            self._read(node.target, scope, round_)
        self._block(node.body, scope, round_)
        self._block(node.orelse, scope, state)
        return True

    def _try(self, node: ast.Try, scope: Scope, state: _State) -> bool:
        tried, failed, final = _State(state), _State(state), node.finalbody
        self._may_bind(node.body[0].lineno, node.body[-1].end_lineno or 0, failed)
        goes_on = self._block([*node.body, *node.orelse], scope, tried)
        ends = [tried] if goes_on else []
        for handler in node.handlers:
            arm = _State(failed)
            if handler.type is not None:
                self._read(handler.type, scope, arm)
            self._bind(handler, arm)
            if self._block(handler.body, scope, arm):
                ends.append(_flat(arm, failed))
        state.join(ends)
        if final and not ends:  # it runs on the way out
            self._block(final, scope, failed)
            return False
        return self._block(final, scope, state) and bool(ends)

    # -- bindings and reads -------------------------------------------------------------------------------------
    def _bind(self, node: ast.AST, state: _State) -> None:
        bound = self._bound.get(node, ())
        for name in {name for name, _ in bound}:
            here = frozenset(binding for other, binding in bound if other == name)
            state.own[name] = _union((here, self._start.get(name)))
            if name in self._read_here:
                self._updates.update(dict.fromkeys(here, self._read_here[name] + 1))

    def _bind_all(self, bound: Iterable[list[tuple[_Name, Binding]]], state: _State) -> None:
        """These may have happened, or not."""
        for name, binding in (item for listed in bound for item in listed):
            state.own[name] = _union((state.get(name), frozenset((binding,))))

    def _may_bind(self, first: int, last: int, state: _State) -> None:
        start = bisect_left(self._places, first, key=lambda item: _line(item[0]))
        end = bisect_right(self._places, last, key=lambda item: _line(item[0]))
        self._bind_all((bound for _, bound in self._places[start:end]), state)

    def _read(self, top: ast.AST, scope: Scope, state: _State) -> None:
        """Note what the names in an expression see; in a lambda, which runs at some other time, they see anything."""
        pending, outside = [(top, scope)], dict[ast.AST, Scope]()
        while pending:
            node, scope = pending.pop()
            if outside:
                scope = outside.get(node, scope)
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    self._name(node, scope, state)
                continue
            if isinstance(node, ast.Lambda):
                continue
            if node in self._bound and not isinstance(node, ast.stmt):  # `:=` and the names in a `match` pattern
                self._bind_all([self._bound[node]], state)
            inner = scope
            if isinstance(node, Comprehension):
                inner = scope.children.get(node, scope)
                outside[node.generators[0].iter] = scope
            parts = children(node)  # of a comprehension, the generators run first
            pending += [(n, inner) for n in (parts if isinstance(node, Comprehension) else reversed(parts))]

    def _name(self, node: ast.Name, scope: Scope, state: _State) -> None:
        owner = scope.binding_scope(node.id) if node.id in self._names else None  # most names are bound once
        if owner is None or (owner, node.id) not in self._several:
            return
        seen = state.get((owner, node.id))
        self._seen[node] = seen
        before = max((self._updates.get(binding, 0) for binding in seen or ()), default=0)
        self._read_here[owner, node.id] = max(before, self._read_here.get((owner, node.id), 0))
        for binding in seen or ():
            self._readers.setdefault(binding, []).append(node)


def _flat(arm: _State, until: _State) -> _State:
    """A branch of a branch, as one over what came before both."""
    found = _State(until.outer)
    found.own = until.own | arm.own
    return found


def _run_here(function: Scope) -> Iterator[Scope]:
    """The function and the classes in it: their bodies run with it."""
    yield function
    for child in function.children.values():
        if child.kind == "class":
            yield from _run_here(child)


def _line(node: ast.AST) -> int:
    return node.lineno  # type: ignore[attr-defined, no-any-return]


def shape_names(read: ast.Name, owner: Scope, scope: Scope) -> int | None:
    """The number of names that the shape of the same value is unpacked into, `b, c, h, w = x.shape`, or the number of
    its dimensions by an assertion."""
    if scope.function is not owner.function:
        return None
    unpacked = definitions(owner).shapes(owner).get(read.id, ())
    mine = reaching(owner.bindings[read.id], read, owner, scope) if unpacked else []
    same = (count for subject, count in unpacked if mine == reaching(owner.bindings[read.id], subject, owner, owner))
    return next(same, None)


def _shapes(owner: Scope) -> dict[str, list[tuple[ast.Name, int]]]:
    found: dict[str, list[tuple[ast.Name, int]]] = {}
    for binding in (b for bindings in owner.bindings.values() for b in bindings if b.kind == "unpack"):
        subject = _subject(binding.value)
        if isinstance(subject, ast.Name) and isinstance(binding.node, ast.Assign):
            target = binding.node.targets[0]
            if isinstance(target, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in target.elts):
                found.setdefault(subject.id, []).append((subject, len(target.elts)))
    for statement in owner.node.body if isinstance(owner.node, FunctionNode) else ():
        if isinstance(statement, ast.Assert):
            for subject, count in _asserted(statement.test):
                found.setdefault(subject.id, []).append((subject, count))
    return found


def _asserted(test: ast.expr) -> Iterator[tuple[ast.Name, int]]:
    """`x.ndim == 4 and y.dim() == 3`, `len(x.shape) == 4`"""
    match test:
        case ast.BoolOp(op=ast.And(), values=tests):
            for each in tests:
                yield from _asserted(each)
        case ast.Compare(left=counted, ops=[ast.Eq()], comparators=[ast.Constant(value=int(count))]):
            match counted:
                case (
                    ast.Attribute(attr="ndim", value=ast.Name() as subject)
                    | ast.Call(func=ast.Attribute(attr="dim" | "ndimension", value=ast.Name() as subject), args=[])
                ):
                    yield subject, count
                case ast.Call(func=ast.Name(id="len"), args=[shape]) if isinstance(whole := _subject(shape), ast.Name):
                    yield whole, count


def _subject(value: ast.expr | None) -> ast.expr | None:
    """`x` in `x.shape` and `x.size()`."""
    match value:
        case ast.Attribute(attr="shape", value=inner) | ast.Call(func=ast.Attribute(attr="size", value=inner), args=[]):
            return inner
    return None
