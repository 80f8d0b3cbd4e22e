"""Items taken by their place, or handed to methods and functions: what their order decides there."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import EllipsisType
from typing import Any, TypeGuard

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.conditions import PathCondition, conditions
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.reaching_definitions import reads_of_binding
from torchrepro_lint.dataflow.use import STOP, Steps, Use
from torchrepro_lint.index import Scope, calls_in, last_name, names_in, walk
from torchrepro_lint.loading import order_loops
from torchrepro_lint.loading.decisions import (
    INDEXED,
    NUMBERED,
    PARTS,
    SAVED,
    TAKEN,
    WRITTEN,
    Shown,
    decided,
    gives_text,
    is_shared,
    is_shared_key,
    saves,
    sort_key,
    sorts,
    stored,
)
from torchrepro_lint.loading.listings import parts_of
from torchrepro_lint.loading.loops import counts, is_counted_with, is_of_this_round, keeps_step, names_a_file
from torchrepro_lint.loading.order_loops import only_compares
from torchrepro_lint.rng.draws import draw_at

_ARRAYS = frozenset({"array", "asarray", "tensor", "as_tensor", "Tensor", "Series"})
_MAPS = frozenset({"map", "imap", "imap_unordered", "starmap"})
_WRAPPERS = frozenset({"iter", "list", "tuple", "sorted"})
_TELLS = frozenset({"print", "debug", "info", "warning", "error", "critical", "exception"})
_TEXTS = frozenset(
    {"join", "str", "repr", "format", "len", "sorted", "list", "tuple", "keys", "values", "items", "basename"}
)


def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = catalogue.table("order")["functions"]
    return table


def within(use: Use[Shown], edges: Edges) -> Steps | None:
    """A container with the items in it is saved whole; else they are followed into it and out again. The keys of a dict
    in it are looked up by who loads it."""
    if use.call is None:
        return _joined_arguments(use, edges)
    name = edges.program.qualified(use.call.func, use.scope) or ""
    if name in _table()["joins"] and len(use.path) == 1:
        is_list = use.state == "sequence" or name.startswith("itertools.")  # which joins the keys of dicts
        return (use.become("sequence").at(use.call, ()),) if is_list else STOP
    if use.state == "sequence" and name in _table()["columns"]:
        return decided(use, use.call, _table()["decides"][name])
    if use.state == "sequence" and saves(use.call, use.scope, edges.program):
        return decided(use, use.call, SAVED)
    return (use.become("text").at(use.call, ()),) if gives_text(name, use.call) else None


def _joined_arguments(use: Use[Shown], edges: Edges) -> Steps | None:
    """`chain(*listings)`"""
    starred = use.parent
    call = use.scope.facts.parents[starred] if isinstance(starred, ast.Starred) else None
    if not isinstance(call, ast.Call) or len(use.path) != 1:
        return None
    joins = edges.program.qualified(call.func, use.scope) in _table()["joins_all"]
    return (use.become("sequence").at(call, ()),) if joins else None


def indexed(parent: ast.Subscript, use: Use[Shown], edges: Edges, asked: ast.expr) -> Steps:
    """`items[...]`."""
    scope = use.scope
    if keeps_step(parent, asked, scope.facts):
        return STOP
    if use.state == "mapping" or not isinstance(parent.ctx, ast.Load):
        return STOP
    match parent.slice:
        case ast.Slice(lower=None, upper=None, step=None):
            return (use.at(parent),)
        case ast.Slice():
            if mapped := _mapped(parent, scope):
                return [use.at(call) for call in mapped]
            is_told = _is_complaint(parent, scope) or _is_only_told(parent, scope)
            return STOP if is_told else decided(use, parent, PARTS)
        case ast.Tuple(elts=[ast.Slice(lower=None, upper=None, step=None) | ast.Constant(value=EllipsisType()), *_]):
            return (use.at(parent),)  # columns of all rows
        case ast.Tuple(elts=[ast.Slice(), *_]):
            return STOP if _is_only_told(parent, scope) else decided(use, parent, PARTS)
        case ast.Constant(value=str()):
            return (use.at(parent),)  # a column of a table
        case ast.Tuple():
            return STOP
        case index if _is_mask(_held(index, scope)):
            return (use.at(parent),)
        case ast.Constant() | ast.UnaryOp():
            if _is_single(parent.value, scope) or is_shared(parent, scope.facts) or _names_one(asked, scope):
                return STOP
            if is_of_this_round(parent, scope.facts):
                return STOP
            if _is_complaint(parent, scope) or _is_only_told(parent, scope) or _is_compared_with_all(parent, scope):
                return STOP
            return decided(use, parent, TAKEN)
        case ast.Name(id=index) if (loop := _loop_over(parent.value, index, scope)) is not None:
            return order_loops.rounds(loop, use, edges)
        case ast.Name(id=index) if _is_key(parent, index, scope) or is_counted_with(parent, scope.facts):
            return STOP
        case ast.Name(id=index) if _is_one_of_few(parent, index, scope):
            return decided(use, parent, TAKEN)
        case index if _is_found_by_value(index, parent.value, scope, edges.program):
            return STOP
        case ast.Call() as call if draw_at(call, scope, edges.program) is not None:
            return decided(use, parent, "decides which item a random draw picks")
    return decided(use, parent, INDEXED)


def _mapped(part: ast.Subscript, scope: Scope) -> list[ast.Call]:
    """The calls that deal the parts out to processes, and give what they make of all items in their order:
    `parts = [items[i : i + n] for i in range(0, len(items), n)]; pool.map(work, parts)`."""
    match scope.facts.parents[part]:
        case ast.ListComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Name(id="range")))]) as parts:
            match scope.facts.parents[parts]:
                case ast.Assign(targets=[ast.Name(id=name)]) as statement if scope.parent is not None:
                    reads = reads_of_binding(name, scope.parent, statement)
                    calls = [scope.facts.parents[read.node] for read in reads]
                    return [call for call in calls if _maps(call)] if all(map(_maps, calls)) else []
    return []


def _maps(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MAPS


def _is_mask(index: ast.expr) -> bool:
    """Whether this chooses rows of a table or an array, which stay in their order: `rows[rows.split != "test"]`."""
    match index:
        case ast.Compare() | ast.BoolOp() | ast.BinOp(op=ast.BitAnd() | ast.BitOr()) | ast.UnaryOp(op=ast.Invert()):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _table()["masks"]
    return False


def _is_found_by_value(index: ast.expr, items: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether an item is the one with the greatest or least of the values that are worked out for each of them:
    `steps = [step_of(name) for name in names]; names[np.argmax(steps)]`."""
    if isinstance(index, ast.Name):
        match program.origins(index, scope):
            case [Result(node=made, scope=where)] if where is scope:
                index = made
    if isinstance(index, ast.Call) and last_name(index.func) == "int" and index.args:
        index = index.args[0]
    while isinstance(index, ast.Subscript):  # `steps.argsort()[-1]`
        index = index.value
    values = _asked_for_places(index, scope, program)
    if values is None or ast.dump(values) == ast.dump(items):  # the greatest itself
        return values is not None
    rounds = _listed_by(values, scope)
    if rounds is not None and rounds == _listed_by(items, scope):
        return True
    if isinstance(values, ast.Name):
        bindings = scope.bindings.get(values.id, ())
        values = bindings[0].value if len(bindings) == 1 else None
    return values is not None and any(_is_of_each(node, items) for node in walk(values))


def _listed_by(items: ast.expr, scope: Scope) -> object:
    """What two lists have in common of which each has an item of every round, in the order of the rounds: the loop that
    a comprehension makes, or the block that appends to them once."""
    match items:
        case ast.Call(args=[listed]) if last_name(items.func) in _ARRAYS:
            return _listed_by(listed, scope)
        case ast.ListComp(generators=generators):
            return [ast.dump(g) for g in generators]
        case ast.Name(id=name):
            values = [b.value for b in scope.bindings.get(name, ()) if not _is_array_of(b.value, name)]
            match values:
                case [ast.List(elts=[])]:
                    return _appending(name, scope)
                case [ast.expr() as value]:
                    return _listed_by(value, scope)
    return None


def _is_array_of(made: ast.AST | None, name: str) -> bool:
    """`name = np.array(name)`"""
    match made:
        case ast.Call(args=[ast.Name(id=listed)]):
            return listed == name and last_name(made.func) in _ARRAYS
    return False


def _appending(name: str, scope: Scope) -> list[ast.stmt] | None:
    """The block in which a list gets its items, if there is one."""
    facts = scope.facts
    added = [c for c, where in facts.calls.get("append", ()) if where.function is scope.function and _is_of(c, name)]
    if len(added) != 1 or not isinstance(statement := facts.parents[added[0]], ast.Expr):
        return None
    around = facts.parents[statement]
    blocks: list[list[ast.stmt]] = [getattr(around, field, None) or [] for field in ("body", "orelse", "finalbody")]
    return next((block for block in blocks if statement in block), None)


def _is_of(call: ast.Call, name: str) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=held)):
            return held == name
    return False


def _is_compared_with_all(item: ast.Subscript, scope: Scope) -> bool:
    """Whether it is only asked whether all items are alike: `items.count(items[0]) == len(items)`."""
    items = ast.dump(item.value)
    match outer := scope.facts.parents[item]:
        case ast.Call(func=ast.Attribute(attr="count", value=counted)):
            return ast.dump(counted) == items
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()]):
            match around := scope.facts.parents[outer]:
                case ast.GeneratorExp(elt=elt, generators=[ast.comprehension(iter=walked, ifs=[])]) if elt is outer:
                    asking = scope.facts.parents[around]
                    asks = isinstance(asking, ast.Call) and last_name(asking.func) in ("all", "any")
                    return asks and ast.dump(walked) == items
    return False


def _asked_for_places(index: ast.expr, scope: Scope, program: Program) -> ast.expr | None:
    """The values of which a call tells the place of one: `np.argmax(values)`, `values.argmin()`, or
    `sorted(range(len(values)), key=values.__getitem__)`."""
    match index:
        case ast.Call(func=ast.Name(id="sorted"), keywords=keywords):
            given = next((k.value for k in keywords if k.arg == "key"), None)
            given = given.body if isinstance(given, ast.Lambda) else given
            return given.value if isinstance(given, ast.Subscript | ast.Attribute) else None
        case ast.Call(func=function, args=args) if last_name(function) in _table()["places"]:
            if program.qualified(function, scope) is not None:
                return args[0] if args else None
            return function.value if isinstance(function, ast.Attribute) else None
    return None


def _is_key(node: ast.expr, index: str, scope: Scope) -> bool:
    """Whether places are put in the order of their values: `sorted(places, key=lambda i: values[i])`."""
    function = scope.facts.parents[node]
    if not isinstance(function, ast.Lambda) or [a.arg for a in function.args.args] != [index]:
        return False
    keyword = scope.facts.parents[function]
    return isinstance(keyword, ast.keyword) and keyword.arg == "key"


def _is_of_each(node: ast.AST, items: ast.expr) -> bool:
    """Whether something is worked out for each of the items, in their order."""
    match node:
        case ast.ListComp(generators=[ast.comprehension(iter=walked, ifs=[])]):
            return ast.dump(walked) == ast.dump(items)
        case ast.Call(func=ast.Name(id="map"), args=[_, walked]):
            return ast.dump(walked) == ast.dump(items)
    return False


def _loop_over(items: ast.expr, index: str, scope: Scope) -> ast.For | None:
    """The loop around that takes all items one after the other and knows no number but for that, or to tell it:
    `for i in range(len(items)): read(items[i])`."""
    text = ast.dump(items)
    for loop in scope.facts.ancestors(items):
        match loop:
            case ast.For(target=ast.Name(id=name), iter=numbers) if name == index:
                taken = [n.slice for n in walk(loop) if isinstance(n, ast.Subscript) and ast.dump(n.value) == text]
                read = (n for n in walk(loop) if isinstance(n, ast.Name) and n.id == index and n is not loop.target)
                is_free = all(n in taken or _tells(scope.facts.statement(n)) for n in read)
                return loop if is_free and _are_all(numbers, text, scope) else None
    return None


def _is_one_of_few(node: ast.expr, index: str, scope: Scope) -> bool:
    """Whether an item is taken by places that are written out: `for i in (-2, -1): read(items[i])`."""
    loops = (n for n in scope.facts.ancestors(node) if isinstance(n, ast.For))
    loop = next((n for n in loops if isinstance(n.target, ast.Name) and n.target.id == index), None)
    places = loop.iter.elts if loop is not None and isinstance(loop.iter, ast.List | ast.Tuple) else []
    return bool(places) and all(isinstance(n, ast.Constant | ast.UnaryOp) for n in places)


def _are_all(numbers: ast.expr, items: str, scope: Scope) -> bool:
    """`range(len(items))`, `xrange(0, len(items))`, with a progress bar around it, or a name for any of these."""
    numbers = _held(numbers, scope)
    while isinstance(numbers, ast.Call) and numbers.args and last_name(numbers.func) == "tqdm":
        numbers = _held(numbers.args[0], scope)
    match numbers:
        case ast.Call(func=ast.Name(id="range" | "xrange"), args=[*start, stop]):
            match _held(stop, scope):
                case ast.Call(func=ast.Name(id="len"), args=[listed]) if ast.dump(listed) == items:
                    return all(isinstance(n, ast.Constant) and n.value == 0 for n in start)
    return False


def _held(node: ast.expr, scope: Scope) -> ast.expr:
    """What a name holds that is bound once, where it is read."""
    bindings = scope.bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    match bindings:
        case [binding] if binding.kind == "assign" and binding.value is not None and not binding.path:
            return binding.value
    return node


def _is_complaint(node: ast.expr, scope: Scope) -> bool:
    """Whether items are named in an error message only: `message = f"{names[0]} is missing"; raise ...(message)`."""
    match scope.facts.statement(node):
        case ast.Raise() | ast.Assert():
            return True
        case (
            ast.Assign(
                targets=[ast.Name(id=name)], value=ast.JoinedStr() | ast.BinOp() | ast.Call() | ast.Subscript()
            ) as statement
        ):
            reads = reads_of_binding(name, scope, statement) if name in scope.bindings else ()
            return bool(reads) and all(isinstance(scope.facts.statement(r.node), ast.Raise) for r in reads)
    return False


def _is_only_told(node: ast.expr, scope: Scope) -> bool:
    """Whether some items are only printed or logged, at once or one after the other, or are part of such a text:
    `for name in sorted(names[:9]): print(name)`."""
    outer = scope.facts.parents[node]
    while isinstance(outer, ast.Call) and last_name(outer.func) in ("sorted", "enumerate"):
        outer = scope.facts.parents[outer]
    if isinstance(outer, ast.For) and not outer.orelse:
        return all(map(_tells, outer.body)) or (all(map(_only_tells, outer.body)) and not _leaves_names(outer, scope))
    match scope.facts.statement(node):
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.JoinedStr() | ast.Subscript() | ast.Call()) as message
        ) if name in scope.bindings:
            reads = reads_of_binding(name, scope, message)
            told = [scope.facts.statement(read.node) for read in reads]
            return any(map(_tells, told)) and all(_tells(one) or _collects(one) for one in told)
        case statement:
            return _tells(statement)


def _collects(statement: ast.stmt) -> bool:
    """Whether a message is raised, or put to others: `problems.append(message)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"))):
            return True
    return isinstance(statement, ast.Raise)


def _leaves_names(loop: ast.For, scope: Scope) -> bool:
    """Whether what a loop binds a name to may be read outside it."""
    inside = set(walk(loop))
    bound: list[tuple[str, ast.stmt]] = [(name, loop) for name in names_in(loop.target)]
    bound += [(name, n) for n in inside if isinstance(n, ast.Assign) for name in names_in(*n.targets)]
    owned = [(name, owner, node) for name, node in bound if (owner := scope.binding_scope(name)) is not None]
    return any(read.node not in inside for name, owner, node in owned for read in reads_of_binding(name, owner, node))


def _only_tells(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but to print or log, and to work out what it tells, by methods."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            calls = (n.func for n in walk(value) if isinstance(n, ast.Call))
            return all(isinstance(f, ast.Attribute) or last_name(f) in _TEXTS for f in calls)
        case ast.If(test=test, body=body, orelse=orelse):
            return not any(calls_in(test)) and all(map(_only_tells, (*body, *orelse)))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            within = (*body, *(s for handler in handlers for s in handler.body), *orelse, *final)
            return all(map(_only_tells, within))
        case ast.Pass() | ast.Continue() | ast.Break():
            return True
    return _tells(statement)


def _tells(statement: ast.stmt) -> bool:
    """Whether a statement prints or logs, and computes nothing for that but texts."""
    match statement:
        case ast.Expr(value=ast.Call(func=function, keywords=keywords)) if last_name(function) in _TELLS:
            calls = (n for n in walk(statement) if isinstance(n, ast.Call) and n is not statement.value)
            return all(last_name(c.func) in _TEXTS for c in calls) and all(k.arg != "file" for k in keywords)
        case ast.If(test=test, body=body, orelse=orelse):
            return not any(calls_in(test)) and all(map(_tells, (*body, *orelse)))
    return False


def method(parent: ast.Attribute, use: Use[Shown], edges: Edges) -> Steps:
    """`items.something`."""
    outer = use.scope.facts.parents[parent]
    if parent.attr == "iloc" and isinstance(outer, ast.Subscript):
        if _is_complaint(outer, use.scope):
            return STOP
        return decided(use, outer, INDEXED)
    if parent.attr in ("loc", "at") and isinstance(outer, ast.Subscript) and _is_asked_for_place(outer, use.scope):
        return decided(use, outer, INDEXED)
    if parent.attr == "values" and use.method is None and use.state == "sequence":
        return (use.at(parent),)  # those of a table or a column, as an array
    match use.method:
        case "copy", call:
            return (use.at(call),)
        case name, call if use.state == "mapping":
            return (use.become("sequence").at(call),) if name in ("items", "keys", "values") else STOP
        case name, call if name in _table()["keeps_methods"] or _keeps_rows(name, call.args):
            return (use.at(call),)
        case name, call if name in _table()["keeps_left_methods"] and use.state == "sequence" and _keeps_left(call):
            return (use.at(call),)
        case "tobytes", call if use.state == "sequence":
            return (use.become("text").at(call),)
        case "index", call if _is_place_for_others(call, parent.value, use.scope):
            return STOP
        case name, call if name in _table()["decides_methods"]:
            return decided(use, call, _table()["decides_methods"][name])
        case "pop", ast.Call(args=[ast.Constant(value=str()), *_] | [_, _]):  # of a dict
            return STOP
        case "pop" | "popleft", call if not _is_single(parent.value, use.scope):
            emptied = _emptied_by(parent, use.scope)
            if emptied is not None:
                return order_loops.rounds(emptied, use, edges)
            return decided(use, call, TAKEN)
    return STOP


def _keeps_rows(name: str, arguments: list[ast.expr]) -> bool:
    """Whether a function or method of arrays leaves the order of the rows: `images.transpose(0, 3, 1, 2)`."""
    first = arguments[0] if arguments else None
    first = first.elts[0] if isinstance(first, ast.Tuple) and first.elts else first
    number = first.value if isinstance(first, ast.Constant) else None
    if name in _table()["rows_unless"]:
        return first is not None and number != _table()["rows_unless"][name]
    return name in _table()["rows_if"] and number == _table()["rows_if"][name]


def _keeps_left(call: ast.Call) -> bool:
    """Whether two tables are joined in the order of the rows of the first: `rows.merge(others, on="name")`."""
    said = {k.arg: k.value.value if isinstance(k.value, ast.Constant) else None for k in call.keywords}
    return said.get("how", "left") in ("left", "inner") and said.get("sort", False) is False


def _is_asked_for_place(taken: ast.Subscript, scope: Scope) -> bool:
    """Whether a row is taken by what a data set is asked for: `self.rows.loc[index, "path"]`."""
    row = taken.slice.elts[0] if isinstance(taken.slice, ast.Tuple) and taken.slice.elts else taken.slice
    given = scope.bindings_of(row) if isinstance(row, ast.Name) else ()
    is_given = bool(given) and all(binding.kind == "parameter" for binding in given)
    return is_given and scope.function.own_name == "__getitem__"


def _is_place_for_others(place: ast.Call, items: ast.expr, scope: Scope) -> bool:
    """Whether the place of an item is only where another list has what belongs to it: `paths[names.index(name)]`, where
    one of the lists is made of the other, item by item."""
    facts = scope.facts
    match facts.parents[place]:
        case ast.Assign(targets=[ast.Name(id=name)]) as statement if name in scope.bindings:
            places = [read.node for read in reads_of_binding(name, scope, statement)]
        case _:
            places = [place]
    taken = [facts.parents[node] for node in places]
    return bool(taken) and all(
        isinstance(one, ast.Subscript) and one.slice is node and _belong_together(one.value, items, scope)
        for one, node in zip(taken, places, strict=True)
    )


def _belong_together(one: ast.expr, other: ast.expr, scope: Scope) -> bool:
    return (
        ast.dump(one) == ast.dump(other)
        or _is_of_each(_held(one, scope), other)
        or _is_of_each(_held(other, scope), one)
    )


def _emptied_by(taken: ast.Attribute, scope: Scope) -> ast.While | None:
    """The loop that takes all items one by one: `while items: items.pop()`."""
    text = ast.unparse(taken.value)
    for parent in scope.facts.ancestors(taken):
        if isinstance(parent, ast.While) and any(ast.unparse(n) == text for n in walk(parent.test)):
            return parent
    return None


# -- arguments ---------------------------------------------------------------------------------------------------
def passed(use: Use[Shown], call: ast.Call, asked: ast.expr, edges: Edges) -> Steps | None:
    """The items are an argument of `call`."""
    table = _table()
    name = edges.program.qualified(call.func, use.scope) or ""
    if name in table["free"] or sorts(call):
        return _compared(name, use, call, edges.program)
    if name == "builtins.dict":
        return None if isinstance(use.parent, ast.keyword) else _made_dict(call, use, edges.program)
    if use.state == "sequence" and gives_text(name, call):
        return (use.become("text").at(call),)
    if name in table["copies"]:
        return (use.at(call),)
    is_array = name.startswith(("numpy.", "torch.")) and _keeps_rows(name.rpartition(".")[2], call.args[1:])
    if name in table["keeps"] or is_array or name.rpartition(".")[2].startswith("tqdm"):
        return (use.become("sequence").at(call),)
    if use.state == "sequence":
        if name in table["keeps_left"]:
            return (use.at(call),) if use.node in call.args[:1] and _keeps_left(call) else STOP
        if name == "builtins.zip":
            return _zipped(use, call, asked, edges.program)
        if name in table["decides"]:
            return _shown_by(name, use, call, asked)
        if last_name(call.func) in table["places"] and (taken := _taken_from_sorted(call, use.scope)) is not None:
            return decided(use, taken, TAKEN)
        if isinstance(call.func, ast.Attribute) and not name:
            found = _passed_to_method(use, call, call.func, edges)
            if found is not None:
                return found
    return None


def _compared(name: str, use: Use[Shown], call: ast.Call, program: Program) -> Steps:
    """Items that are equal by what they are compared by stay in their order, and the first of them is the greatest."""
    key = sort_key(call)
    if not is_shared_key(key) and not _counts_items(key, use.scope, program):
        return STOP
    if name in ("builtins.max", "builtins.min"):
        around = use.scope.facts.parents[call]
        is_counted = isinstance(around, ast.Call) and last_name(around.func) == "len"
        return STOP if is_counted or _is_only_told(call, use.scope) else decided(use, call, TAKEN)
    return (use.become("sequence").at(call),) if sorts(call) else STOP


def _counts_items(key: ast.expr | None, scope: Scope, program: Program) -> bool:
    """Whether items are sorted by how often each was counted: `sorted(words, key=counts.get)`, or by `counts[word]`."""
    match key:
        case ast.Attribute(value=counted, attr="get" | "__getitem__") | ast.Subscript(value=counted):
            return program.is_made_by({"collections.Counter"}, counted, scope)
    return False


def _taken_from_sorted(place: ast.Call, scope: Scope) -> ast.Subscript | None:
    """`sorted(names)[np.argmax(steps)]`: a place among items in one order, taken from those in another."""
    match scope.facts.parents[place]:
        case ast.Subscript(value=ast.Call() as items, slice=index) as taken if index is place and sorts(items):
            return taken
    return None


def _shown_by(name: str, use: Use[Shown], call: ast.Call, asked: ast.expr) -> Steps:
    """A function that shows the order at once."""
    scope = use.scope
    if name == "builtins.next":
        is_let_go = isinstance(scope.facts.parents[call], ast.Expr) and not scope.facts.source.cells
        if is_let_go or is_shared(call, scope.facts) or _is_single(_unwrapped(call.args[0]), scope):
            return STOP
        if _names_one(asked, scope):
            return STOP
    return decided(use, call, _table()["decides"][name])


def _passed_to_method(use: Use[Shown], call: ast.Call, function: ast.Attribute, edges: Edges) -> Steps | None:
    """An argument of a method of some object."""
    match function.attr:
        case "extend" | "extendleft":
            return stored(function.value, use.scope.facts.statement(call), use, edges)
        case name if name in _MAPS and use.node in call.args[1:]:
            return (use.at(call),)
        case "writelines" | "writerows":
            return decided(use, call, WRITTEN)
        case "create_dataset":  # of h5py and zarr
            return decided(use, call, SAVED)
        case "join":
            return (use.become("text").at(call),)
        case name if name in _table()["drawn"] and _is_generator(function.value, use.scope, edges.program):
            return decided(use, call, _table()["drawn"][name])
    return None


def _is_generator(value: ast.expr, scope: Scope, program: Program) -> bool:
    return program.is_made_by(catalogue.names("generators", "generators").keys(), value, scope)


def text(use: Use[Shown]) -> Steps | None:
    """A text that has the items in their order, where it is written to a file."""
    match use.parent:
        case ast.BinOp() as parent:
            return (use.at(parent),)
        case ast.Assign():
            return None
        case ast.Call(func=ast.Attribute(value=handle, attr=name)) as parent if _is_written(name, handle):
            return decided(use, parent, WRITTEN)
    return STOP


def _is_written(method: str, handle: ast.expr) -> bool:
    """Whether `handle.method(...)` writes a file."""
    if method != "write":
        return method == "write_text"
    return names_a_file(handle) or (isinstance(handle, ast.Call) and ast.unparse(handle.func).endswith("open"))


def _made_dict(call: ast.Call, use: Use[Shown], program: Program) -> Steps:
    """`dict(items)`, where the items may be pairs with their numbers."""
    match call.args:
        case [ast.Call(func=ast.Name(id=name), args=paired)] if name == "enumerate" or any(map(counts, paired)):
            return STOP if only_compares(call, use.scope, program) else decided(use, call, NUMBERED)
    return (use.become("mapping").at(call),)


def _zipped(use: Use[Shown], call: ast.Call, asked: ast.expr, program: Program) -> Steps:
    """Two listings are paired by chance; a list made from this one is paired rightly in any order."""
    fixed = {"builtins.sorted", *catalogue.names("order", "listings")}
    others = [o for a in call.args if a is not use.node for o in program.origins(a, use.scope)]
    if any(isinstance(o, Result) and o.callee in fixed and o.node is not asked for o in others):
        return decided(use, call, "decides which items are paired")
    return (use.at(call),)


# -- one item for all --------------------------------------------------------------------------------------------------
def _is_single(value: ast.expr, scope: Scope) -> bool:
    """Whether the tests on the way make sure that there is one item only: `assert len(found) == 1`."""
    tests = conditions(value, scope)
    text = ast.unparse(_unwrapped(value)) if tests else ""
    return any(_counts_one(condition, text) for condition in tests)


def _names_one(listing: ast.expr, scope: Scope) -> bool:
    """Whether a pattern gives the whole name of a file but for its suffix: `folder.glob(f"{name}.*")`."""
    if not isinstance(listing, ast.Call) or last_name(listing.func) not in ("glob", "iglob") or not listing.args:
        return False
    parts = parts_of(_held(listing.args[0], scope))
    text = "".join(p.value if isinstance(p, ast.Constant) and isinstance(p.value, str) else "." for p in parts)
    return text.endswith(".*") and not set(text[:-2]) & set("*?[") and text[-3:-2] not in ("", "/")


def _unwrapped(node: ast.expr) -> ast.expr:
    """`x` of `iter(x)` or `list(x)`."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _WRAPPERS:
            return _unwrapped(inner)
    return node


def _counts_one(condition: PathCondition, text: str) -> bool:
    """Whether `len(text)` is known to be 1 at most."""
    match condition.test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[counted]), ops=[op], comparators=[ast.Constant(value=number)]
        ) if ast.unparse(counted) == text:
            if number == 2:
                return isinstance(op, ast.Lt if condition.holds else ast.GtE)
            return number == 1 and isinstance(op, ast.Eq | ast.LtE if condition.holds else ast.NotEq | ast.Gt)
    return False
