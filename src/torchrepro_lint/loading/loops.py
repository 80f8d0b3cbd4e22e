"""What a loop leaves behind in which the order of its rounds can be seen: lists it fills, numbers it gives, what it
stops at. Reads syntax only; whether anybody looks at what is left is for `order` to say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from typing import Literal, NamedTuple

from torchrepro_lint.dataflow import remembered_in_file
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.edges import key_of
from torchrepro_lint.dataflow.enclosing import block_of, loops_around, run_with
from torchrepro_lint.dataflow.reaching_definitions import reaching
from torchrepro_lint.dataflow.use import Path
from torchrepro_lint.index import (
    Binding,
    FunctionNode,
    ModuleFacts,
    Scope,
    arguments_of,
    calls_in,
    dotted,
    last_name,
    names_in,
    walk,
)
from torchrepro_lint.loading.decisions import FIRST, WRITTEN, is_shared

Kind = Literal["decides", "sequence", "mapping", "last", "yield", "call"]
Loop = ast.For | ast.AsyncFor
_FILLS = frozenset({"append", "extend", "insert", "appendleft", "extendleft", "put"})
_WRITES = frozenset({"write", "writelines", "writerow", "writerows"})
_JOINS = frozenset(
    {"cat", "concat", "concatenate", "append", "vstack", "hstack", "dstack", "column_stack", "row_stack"}
)
_DICTS = frozenset({"dict", "OrderedDict", "defaultdict"})
_TELL_APART = frozenset({"str", "Path", "basename", "abspath", "fspath"})
_MAKE_NAMES = frozenset({"join", "Path", "str", "format"})
_ARCHIVES = frozenset({"ZipFile", "TarFile"})
MAX_NAMES = 3  # one made of the other, up to the item of a round
_NOT_A_FILE = ("log", "std", "tqdm", "bar", "console", "zip", "wav", "socket")


class Effect(NamedTuple):
    """`target`, or what it holds under `path`, is filled in the order of the rounds as `kind` says; or it matters at
    once, as `why` says; or a call is to be looked into, whose arguments have the number of the round if there is a
    `why`."""

    kind: Kind
    node: ast.AST
    target: ast.expr | None = None
    why: str = ""
    path: Path = ()


def index_name(target: ast.expr, iterable: ast.expr) -> str | None:
    """The counting variable of `for i, x in enumerate(...)`, or of `for x, i in zip(items, range(n))`."""
    match iterable, target:
        case ast.Call(func=ast.Name(id="enumerate")), ast.Tuple(elts=[ast.Name(id=name), *_]):
            return name
        case ast.Call(func=ast.Name(id="zip"), args=args), ast.Tuple(elts=names):
            counted = (n.id for a, n in zip(args, names, strict=False) if counts(a) and isinstance(n, ast.Name))
            return next(counted, None)
    return None


def counts(node: ast.expr) -> bool:
    """Whether this is `range(...)` or `itertools.count()`."""
    return isinstance(node, ast.Call) and last_name(node.func) in ("range", "count")


def keeps_step(item: ast.Subscript, collection: ast.expr, facts: ModuleFacts) -> bool:
    """Whether `items[i]` is read in a loop over `enumerate(collection)` from which `items` was made too, and which is
    bound once: what nobody changes gives its items in the same order each time."""
    loops = (loop for loop in facts.ancestors(item) if isinstance(loop, Loop))
    index = item.slice.id if isinstance(item.slice, ast.Name) else None
    loop = next((n for n in loops if index is not None and index_name(n.target, n.iter) == index), None)
    if loop is None or not isinstance(collection, ast.Name):
        return False
    function = facts.scope_of(item).function
    over = loop.iter.args[0] if isinstance(loop.iter, ast.Call) else loop.iter
    is_same = isinstance(over, ast.Name) and over.id == collection.id
    return is_same and len(function.bindings.get(collection.id, ())) == 1


def is_counted_with(item: ast.Subscript, facts: ModuleFacts) -> bool:
    """Whether `items[i]` is what the same loop has put to the item that is counted: `for i, path in enumerate(paths):
    read(path, items[i])`."""
    index = item.slice.id if isinstance(item.slice, ast.Name) else None
    loops = (loop for loop in facts.ancestors(item) if isinstance(loop, Loop))
    loop = next((n for n in loops if index is not None and index_name(n.target, n.iter) == index), None)
    if loop is None or not isinstance(loop.iter, ast.Call) or not loop.iter.args:
        return False
    filling = _filling(item.value, facts)
    return filling is not None and filling is _filling(loop.iter.args[0], facts)


def is_of_this_round(item: ast.Subscript, facts: ModuleFacts) -> bool:
    """Whether `items[-1]` is what the loop around has put there in the same round."""
    match item.slice:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            filling = _filling(item.value, facts)
            return filling is not None and filling in tuple(loops_around(facts, item))
    return False


def _filling(items: ast.expr, facts: ModuleFacts) -> ast.AST | None:
    """The loop in which a list gets an item at one place, if that is how it is filled."""
    added = _added(facts.scope_of(items).function).get(ast.unparse(items), ())
    return next(loops_around(facts, added[0]), None) if len(added) == 1 else None


@remembered_in_file
def _added(function: Scope) -> dict[str, list[ast.Call]]:
    """The calls of `append` in a function, by what they add to."""
    found: dict[str, list[ast.Call]] = {}
    for call, where in function.facts.calls.get("append", ()):
        if where.function is function and isinstance(call.func, ast.Attribute):
            found.setdefault(ast.unparse(call.func.value), []).append(call)
    return found


def is_one(test: ast.expr, items: Set[str]) -> bool:
    """Whether a test lets one item through, as no name is listed twice: `name == "train.sh"`."""
    return any(isinstance(other, ast.Constant) for other in _asked_for(test, items))


def _asked_for(test: ast.expr, items: Set[str], operator: type[ast.cmpop] = ast.Eq) -> list[ast.expr]:
    """What an item is compared with."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, operator):
            sides = ((left, right), (right, left))
            return [other for side, other in sides if isinstance(side, ast.Name) and side.id in items]
    return []


def names_a_file(handle: ast.expr) -> bool:
    """Whether a name with a `write` may be a file's, for the items one by one; a log is none, nor is an archive."""
    return isinstance(handle, ast.Name) and is_no_log(handle.id)


def is_no_log(text: str) -> bool:
    return not any(word in text.lower() for word in _NOT_A_FILE)


def effects(facts: ModuleFacts, owner: Loop | ast.While | FunctionNode) -> Iterator[Effect]:
    """The effects of a loop's rounds, or of a function that a loop calls."""
    body = list(run_with(owner.body))
    reader = _Body(facts, owner, body)
    for node in body:
        match node:
            case ast.Call():
                yield from reader.call(node)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from reader.assign(node, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from reader.assign(node, target, value)
            case ast.AugAssign(op=ast.Add(), target=ast.Name() | ast.Attribute() as target, value=value):
                if not isinstance(value, ast.Constant) and not reader.is_local(target):
                    yield Effect("sequence", node, target)
            case ast.AugAssign(op=ast.Add(), target=ast.Subscript() as target, value=ast.List() | ast.ListComp()):
                filled, path = reader.container(target)  # a list, no sum
                if filled is not None and not reader.is_local(filled):
                    yield Effect("sequence", node, filled, path=path)
            case ast.Yield(value=ast.expr()) | ast.YieldFrom():
                yield Effect("yield", node)
            case ast.Return(value=ast.expr() as value) if reader.is_loop and not reader.is_alike(value):
                if not reader.is_picked(node) and not reader.shares(value):
                    yield Effect("decides", node, why=FIRST)
            case ast.Break() if reader.stops_by_count(node):
                yield Effect("decides", node, why="decides which items come first")


class _Body:
    """The names of a loop's body: which are made anew in each round, and which count."""

    def __init__(self, facts: ModuleFacts, owner: Loop | ast.While | FunctionNode, body: Sequence[ast.AST]) -> None:
        self.facts = facts
        self.owner = owner
        self.is_loop = isinstance(owner, Loop | ast.While)
        self.inside = set(body)
        self.items = names_in(owner.target) if isinstance(owner, Loop) else set()
        self.local = self.items | {
            n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and not self._continues(n)
        }
        counted = (name for n in body if (name := _counted(n)) is not None)
        self.counters = {name.id for name in counted if not self._is_made_here(name)}
        if isinstance(owner, Loop):
            index = index_name(owner.target, owner.iter)
            self.counters |= {index} if index else set()
        self.walked: set[str] = set()  # the lists of names in `for root, dirs, files in os.walk(...)`
        if isinstance(owner, Loop) and isinstance(owner.target, ast.Tuple) and len(owner.target.elts) == 3:
            self.walked = {n.id for n in owner.target.elts[1:] if isinstance(n, ast.Name)}

    def _continues(self, target: ast.Name) -> bool:
        """`x += y` and `x = x + y` go on with the object of the round before."""
        statement = self.facts.parents[target]
        if isinstance(statement, ast.Assign):
            return _mentions(statement.value, {target.id})
        return isinstance(statement, ast.AugAssign)

    def is_alike(self, value: ast.expr) -> bool:
        """Whether a value is the same in each round: made of what the loop neither binds nor looks into."""
        is_plain = not any(isinstance(n, ast.Call | ast.Attribute | ast.Subscript) for n in walk(value))
        return is_plain and not _mentions(value, self._touched)

    @cached_property
    def _touched(self) -> set[str]:
        """The names that the loop binds or looks into."""
        own = {n.id for n in self.inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        held = {n.value.id for n in self.inside
                if isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.value, ast.Name)}  # fmt: skip
        return self.items | own | held

    @cached_property
    def _moved(self) -> set[str]:
        """What the loop adds to."""
        moved = (n.target for n in self.inside if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add))
        return {ast.unparse(target) for target in moved}

    @cached_property
    def _handed_on(self) -> set[str]:
        """The names that calls are given, but for `len(found)`."""
        calls = [n for n in self.inside if isinstance(n, ast.Call) and last_name(n.func) != "len"]
        return {a.id for call in calls for a in arguments_of(call) if isinstance(a, ast.Name)}

    def shares(self, value: ast.expr) -> bool:
        """Whether a value has of an item only what all of them share."""
        made = [n for n in walk(value) if isinstance(n, ast.Name) and n.id in self.local]
        return bool(made) and all(is_shared(n, self.facts) for n in made)

    def is_local(self, node: ast.expr) -> bool:
        """Whether the object is one that each round makes for itself."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.local:
            return False
        return node.id in self.items or self._is_made_here(node)

    def _is_made_here(self, name: ast.Name) -> bool:
        """Whether all that a name can stand for is made in the body, and not before it."""
        scope = self.facts.scope_of(name)
        owner = scope.binding_scope(name.id)
        if owner is None or owner.function is not scope.function:
            return owner is None
        found = reaching(owner.bindings[name.id], name, owner, scope)
        return all(b.node in self.inside and self.local.issuperset(n.id for n in other_names(b)) for b in found)

    def call(self, call: ast.Call) -> Iterator[Effect]:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in _FILLS and not self._is_module(function.value):
            receiver, path = self.container(function.value)
            if receiver is not None and not self.is_local(receiver) and not self.is_first_round(call):
                if any(self.numbers(a) for a in call.args):
                    yield Effect("decides", call, why="decides the number of each item")
                elif not (self._gives_alike(call) or self._is_once(call)):
                    yield Effect("sequence", call, receiver, path=path)
        elif isinstance(function, ast.Attribute) and function.attr == "update" and self._is_dict(function.value):
            if not any(map(self._are_weights, call.args)):
                yield Effect("mapping", call, function.value)
        elif (handle := _written_to(call)) is not None:
            if self.is_file(handle):
                yield Effect("decides", call, why=WRITTEN)
        elif self._gives_number(call):
            yield Effect("call", call, why="decides the number of each item")
        else:
            yield Effect("call", call)

    def _gives_alike(self, call: ast.Call) -> bool:
        return bool(call.args) and self.is_loop and all(map(self.is_alike, call.args))

    def _is_once(self, node: ast.AST) -> bool:
        """Whether a test lets only the round of one item come by: `for suffix in suffixes: if suffix == ".txt":`, or
        `for name in names: if name != wanted: continue`."""
        items = self.items - self.counters
        tests = [c for c in conditions(node, self.facts.scope_of(node)) if c.owner in self.inside]
        if any(c.holds and is_one(c.test, items) for c in tests):
            return True
        if not isinstance(self.owner, Loop) or not isinstance(self.owner.target, ast.Name):
            return False
        asked = (o for c in tests for o in _asked_for(c.test, items, ast.Eq if c.holds else ast.NotEq))
        return any(not any(calls_in(other)) and self._changed.isdisjoint(names_in(other)) for other in asked)

    @cached_property
    def _changed(self) -> set[str]:
        """The names that the rounds bind, and those whose items, attributes or methods they may change things by."""
        held = (n for n in self.inside if isinstance(n, ast.Attribute | ast.Subscript))
        roots = (n for n in held if isinstance(n.ctx, ast.Store) or isinstance(self.facts.parents.get(n), ast.Call))
        bound = {n.id for n in self.inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return bound.union(self.items, *(names_in(n.value) for n in roots))

    def _is_dict(self, receiver: ast.expr) -> bool:
        """Whether a name is that of a dict that the rounds do not make: `update` is a method of much else."""
        made = [binding.value for binding in self._bound(receiver)]
        is_dict = any(
            isinstance(v, ast.Dict) or (isinstance(v, ast.Call) and last_name(v.func) in _DICTS) for v in made
        )
        return is_dict and not self.is_local(receiver)

    def _are_weights(self, value: ast.expr) -> bool:
        """Whether a dict is that of a checkpoint, whose parts are found by their names."""
        name = dotted(value.func) if isinstance(value, ast.Call) else None
        first, _, rest = (name or "").partition(".")
        targets = [b.target for b in self.facts.scope.bindings.get(first, ()) if b.kind == "import"]
        found = [f"{target}.{rest}".rstrip(".") for target in targets]
        return any(f == "torch.load" or f.startswith("safetensors.") for f in found)

    def _gives_number(self, call: ast.Call) -> bool:
        """Whether a call is given a counter, and something of the item that it counts."""
        given = arguments_of(call)
        counted = any(_mentions(a, self.counters) or self._has_number(a) for a in given)
        return counted and any(_mentions(a, (self.items | self.local) - self.counters) for a in (call.func, *given))

    def _has_number(self, text: ast.expr) -> bool:
        """Whether a text that a round puts together, maybe in steps, has a counter in it: `name = f"{i}.npy"`."""
        pending, seen = [text], set[str]()
        while pending:
            match pending.pop():
                case ast.Name(id=name) if name in self.counters:
                    return True
                case ast.Name(id=name) as read if name in self.local and name not in seen:
                    seen.add(name)
                    made = (b.value for b in self._bound(read) if b.node in self.inside and b.kind == "assign")
                    pending += filter(None, made)
                case ast.JoinedStr(values=parts):
                    pending += (part.value for part in parts if isinstance(part, ast.FormattedValue))
                case ast.BinOp(left=left, right=right):
                    pending += left, right
                case ast.Call(func=function, args=parts) if last_name(function) in _MAKE_NAMES:
                    pending += parts
        return False

    def container(self, receiver: ast.expr) -> tuple[ast.expr | None, Path]:
        """What `receiver.append(...)` or `receiver[key] = ...` fills: a list or dict, or one of those that a dict has
        under a path of keys (but not the round's own)."""
        path: Path = ()
        while True:
            match receiver:
                case ast.Name() | ast.Attribute():
                    return receiver, path
                case (
                    ast.Subscript(value=owner, slice=key)
                    | ast.Call(func=ast.Attribute(attr="setdefault", value=owner), args=[key, *_])
                ) if not self._is_of_items(key):
                    receiver, path = owner, (key_of(key), *path)
                case _:
                    return None, ()

    def _is_of_items(self, key: ast.expr) -> bool:
        """Whether a key tells the items apart: `path`, `path.stem`, `str(path)`, `f"{path}.txt"`."""
        match key:
            case ast.Name(id=name):
                return name in self.items
            case ast.Attribute(attr="name" | "stem", value=inner) | ast.FormattedValue(value=inner):
                return self._is_of_items(inner)
            case ast.Call(func=function, args=[inner]) if last_name(function) in _TELL_APART:
                return self._is_of_items(inner)
            case ast.JoinedStr(values=parts):
                return any(map(self._is_of_items, parts))
        return False

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> Iterator[Effect]:
        match target:
            case ast.Subscript(value=owner, slice=key) if not self.is_local(owner) and not self._is_own(owner):
                if self._is_next_place(key):
                    yield Effect("sequence", node, owner)
                elif self.numbers(key) or self.numbers(value):
                    yield Effect("decides", node, why="decides the number of each item")
                else:
                    filled, path = self.container(owner)
                    if filled is not None and not (path and isinstance(key, ast.Constant)):
                        yield Effect("mapping", node, filled, path=path)
            case ast.Name() | ast.Attribute() if _is_joined_to(target, value):
                if not self.is_local(target):
                    yield Effect("sequence", node, target)
            case ast.Name(id=name) if self.is_loop and not isinstance(value, ast.Constant):
                if isinstance(value, ast.BinOp) and _mentions(value, {name}):
                    if not self.is_local(target):
                        yield Effect("sequence", node, target)
                elif self.keeps_one(node, name, value):
                    yield Effect("last", node, target)

    def _is_own(self, owner: ast.expr) -> bool:
        """Whether a loop puts something in its items' place: `for i, name in enumerate(names): names[i] = ...`."""
        walked = self.owner.iter if isinstance(self.owner, Loop) else None
        return walked is not None and any(ast.dump(node) == ast.dump(owner) for node in walk(walked))

    def keeps_one(self, node: ast.stmt, name: str, value: ast.expr) -> bool:
        """Whether `name` is given one of several items of some kind, whichever comes last."""
        is_item = _mentions(value, self.items | self.local) and not _mentions(value, {name})
        return is_item and self.is_chosen(node) and not self.is_picked(node, self._set_beside(node))

    def _set_beside(self, node: ast.stmt) -> set[str]:
        """The names that the block of a statement sets: `best = score` beside `kept = item`."""
        targets = (t for s in block_of(self.facts, node) if isinstance(s, ast.Assign) for t in s.targets)
        return {target.id for target in targets if isinstance(target, ast.Name)}

    def is_file(self, handle: ast.expr) -> bool:
        """Whether something with a `write` is a file, which all rounds write into; a log is none."""
        if not isinstance(handle, ast.Name) or not names_a_file(handle):
            return False
        made = self._bound(handle)
        if self.is_local(handle):
            return bool(made) and all(self._is_added_to(b) for b in made if b.node in self.inside)
        if any(isinstance(b.value, ast.Call) and last_name(b.value.func) in _ARCHIVES for b in made):
            return False  # whose members have names
        return not self._is_module(handle)  # `soundfile.write(path, x)`

    def _is_added_to(self, opened: Binding) -> bool:
        """Whether a round opens a file to write on where the last one ended, by a name that tells nothing of its item:
        `open("train.txt", "a")`."""
        match opened.value:
            case ast.Call(func=ast.Name(id="open"), args=[path, ast.Constant(value=str(mode)), *_]) if "a" in mode:
                return is_no_log(ast.unparse(path)) and not self._tells_item(path)
        return False

    def _tells_item(self, value: ast.expr, depth: int = 0) -> bool:
        """Whether a value is made of the round's item, through the names that the round binds."""
        arms = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
        names = [n for arm in arms for n in walk(arm) if isinstance(n, ast.Name) and n.id in self.local]
        if depth == MAX_NAMES or any(name.id in self.items for name in names):
            return True
        made = (b for name in names for b in self._bound(name) if b.node in self.inside)
        return any(b.value is None or self._tells_item(b.value, depth + 1) for b in made)

    def _is_module(self, name: ast.expr) -> bool:
        return any(b.kind == "import" for b in self._bound(name))  # `ray.put(item)`

    def _bound(self, name: ast.expr) -> Sequence[Binding]:
        """What a plain name can stand for."""
        if not isinstance(name, ast.Name):
            return ()
        owner = self.facts.scope_of(name).binding_scope(name.id)
        return owner.bindings[name.id] if owner is not None else ()

    def numbers(self, node: ast.AST) -> bool:
        """Whether a value counts the rounds so far: `i`, or `len(found)`; not `made[i]` of what another loop made of
        the same items."""
        return any(self._is_count(n) or self._is_size(n) for n in walk(node))

    def _is_next_place(self, key: ast.expr) -> bool:
        """`self.end` or `self.end : self.end + n`, where `self.end += n` follows."""
        first = key.lower if isinstance(key, ast.Slice) else key
        return isinstance(first, ast.Attribute) and ast.unparse(first) in self._moved

    def _is_size(self, node: ast.AST) -> bool:
        """`len(found)` of what may grow by a round."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if self.is_loop:
                return name not in self.local and (name in self._touched or name in self._handed_on)
            case ast.Call(func=ast.Name(id="len"), args=args):
                return not any(_mentions(counted, self.items | self.local) for counted in args)
        return False

    def _is_count(self, node: ast.AST) -> bool:
        if not (isinstance(node, ast.Name) and node.id in self.counters):
            return False
        item = self.facts.parents[node]
        if not isinstance(item, ast.Subscript) or item.slice is not node:
            return True
        return not (self._is_in_step(item) or is_counted_with(item, self.facts))

    def _is_in_step(self, item: ast.Subscript) -> bool:
        function = self.facts.scope_of(item).function
        bound = function.bindings.get(getattr(item.value, "id", ""), [])
        written = [b.value for b in bound if isinstance(b.value, ast.ListComp)]
        made: list[ast.expr] = [comprehension.generators[0].iter for comprehension in written]
        for call, where in self.facts.calls.get("append", ()):
            filled = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            loop = next((n for n in self.facts.ancestors(call) if isinstance(n, Loop)), None)
            if where.function is function and loop is not None and ast.dump(filled) == ast.dump(item.value):
                made.append(loop.iter)
        return bool(made) and all(keeps_step(item, collection, self.facts) for collection in made)

    def _parts(self, node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
        """All parts of the tests of one round that are known at a place, each with how its test came out."""
        for condition in conditions(node, self.facts.scope_of(node)):
            if condition.owner in self.inside:
                yield from ((part, condition.holds) for part in walk(condition.test))

    def is_picked(self, node: ast.AST, best: Set[str] = frozenset()) -> bool:
        """Whether a test picks one item whatever the order: the one of that name, a new key, or the largest, where the
        names in `best` hold what was the largest so far."""
        return any(
            isinstance(part, ast.Compare) and (self._names_one(part, holds) or _mentions(part, best))
            for part, holds in self._parts(node)
        )

    def _names_one(self, test: ast.Compare, holds: bool) -> bool:
        """`item == wanted`, `item in ("a.bin", "b.bin")`, but not `suffix == ".png"`, which many items have."""
        match test:
            case ast.Compare(ops=[ast.In() | ast.NotIn() as op]) if isinstance(op, ast.In) is not holds:
                return False
            case ast.Compare(left=left, ops=[_], comparators=[ast.List() | ast.Tuple() | ast.Set() as names]):
                return self._is_item(left) and all(isinstance(n, ast.Constant) for n in names.elts)
            case ast.Compare(left=ast.Name() as left, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=names)]):
                return names in self.walked and not self.is_local(left)  # `wanted in files`
        if not any(isinstance(op, ast.Eq | ast.Is if holds else ast.NotEq | ast.IsNot) for op in test.ops):
            return False
        sides = [test.left, *test.comparators]
        if any(isinstance(s, ast.Constant) for s in sides):
            return any(self._is_item(s) for s in sides)
        return any(_mentions(s, self.items | self.local) for s in sides)

    def _is_item(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and node.attr in ("name", "stem"):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.items | self.counters

    def is_chosen(self, node: ast.AST) -> bool:
        """Whether a test looks for an item of some kind, of which there may be several."""
        parts = [part for part, _ in self._parts(node)]
        is_looked_up = any(isinstance(p, ast.Compare) and isinstance(p.ops[0], ast.In | ast.NotIn) for p in parts)
        return is_looked_up or any(isinstance(part, ast.Call) for part in parts)

    def is_first_round(self, node: ast.AST) -> bool:
        """`if i == 0:`"""
        compared = ((part, holds) for part, holds in self._parts(node) if isinstance(part, ast.Compare))
        equal = (part.left for part, holds in compared if isinstance(part.ops[0], ast.Eq if holds else ast.NotEq))
        return any(_mentions(number, self.counters) for number in equal)

    def stops_by_count(self, node: ast.AST) -> bool:
        """Whether a `break` comes after so many rounds."""
        return any(self.numbers(part) for part, _ in self._parts(node))


def _counted(node: ast.AST) -> ast.Name | None:
    """The name of `i += 1` or `i = i + 1`."""
    match node:
        case ast.AugAssign(target=ast.Name() as name, value=ast.Constant()):
            return name
        case ast.Assign(
            targets=[ast.Name() as name], value=ast.BinOp(op=ast.Add(), left=ast.Name(id=read), right=ast.Constant())
        ) if read == name.id:
            return name
    return None


def _written_to(call: ast.Call) -> ast.expr | None:
    """The file that a call writes to: `file.write(x)`, `print(x, file=file)`."""
    match call.func:
        case ast.Attribute(attr=name, value=handle) if name in _WRITES:
            return handle
        case ast.Name(id="print"):
            return next((k.value for k in call.keywords if k.arg == "file"), None)
    return None


def _is_joined_to(held: ast.expr, value: ast.expr) -> bool:
    """Whether a value is what was held with more joined to it: `rows = row if first else torch.cat([rows, row])`."""
    arms = [value]
    for arm in arms:
        match arm:
            case ast.IfExp(body=body, orelse=other):
                arms += [body, other]
            case ast.Call(func=function, args=[first, *_]) if last_name(function) in _JOINS:
                parts = first.elts if isinstance(first, ast.List | ast.Tuple) else (first,)
                if any(ast.unparse(part) == ast.unparse(held) for part in parts):
                    return True
    return False


def _mentions(node: ast.AST, names: Set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in walk(node))


def other_names(binding: Binding) -> list[ast.Name]:
    """The names of what a binding gives one name more: `part = train if is_known(file) else test`."""
    value = binding.value if binding.kind == "assign" and not binding.path else None
    arms = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
    return [arm for arm in arms if isinstance(arm, ast.Name)]
