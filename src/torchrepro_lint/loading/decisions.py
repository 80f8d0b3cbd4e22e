"""What `order` answers with, and what it remembers of the items on its way."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias, TypeGuard

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, start_of
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.enclosing import block_of, loops_around
from torchrepro_lint.dataflow.use import STOP, Sink, Step, Steps, Use
from torchrepro_lint.index import ModuleFacts, Scope, keyword_value, last_name, names_in

# What shows the order of the items: a list or iterator, a dict whose keys are in that order, or a text.
Shown: TypeAlias = Literal["sequence", "mapping", "text"]


MAX_READS = 256  # of one variable: with more, it is not known whether one of them sorts it

MAX_BELOW = 64  # statements below one that sets an attribute, in which it may be set anew

SAVED = "is saved"
WRITTEN = "becomes the order in which the items are written"
NUMBERED = "decides the number of each item"
TAKEN = "decides which item is taken"
FIRST = "decides which item comes first"
KEPT = "decides which item is kept"
PARTS = "decides which items each part gets"
INDEXED = "decides which item each index refers to"
TRAINED = "decides which item the model is trained on first"
GIVEN = "becomes the order of the data that is returned"
ONE_OF_THEM = (TAKEN, FIRST, KEPT)
_TELLING = frozenset({"__repr__", "__str__"})
_SHARED = frozenset({"parent", "parents", "suffix", "shape", "dtype", "ndim", "size", "width", "height"})
MAX_NAMES = 4  # one after the other, between an item and what is read of it


class Decision(NamedTuple):
    """The place where the order decides something, and what: "its order ..."."""

    facts: ModuleFacts
    node: ast.AST
    why: str


def most_telling(found: Iterable[Decision]) -> Decision | None:
    """The first decision about all items; else the first of those about one of them."""
    one = None
    for decision in found:
        if decision.why not in ONE_OF_THEM:
            return decision
        one = one or decision
    return one


def decided(use: Use[Shown], node: ast.AST, why: str) -> Steps:
    """The order decides something at `node`, which stands where the items are: nothing, if it is what tells of an
    object."""
    if use.scope.function.name.rpartition(".")[2] in _TELLING:
        return STOP
    return (Sink(Decision(use.scope.facts, node, why)),)


def stored(target: ast.expr, node: ast.AST, use: Use[Shown], edges: Edges) -> Steps:
    """What becomes of items that `node` assigns, or adds, to `target`. Sorting them there is a barrier."""
    if isinstance(target, ast.Tuple | ast.List) and not use.path:
        is_alone = len(target.elts) == 1 or use.state != "sequence"
        return STOP if is_alone else decided(use, node, "decides which item gets which name")
    if isinstance(target, ast.Subscript) and use.state == "mapping":
        return STOP  # `results[key][i] = x`: each round may have a dict of its own
    if _is_column(target, use, edges.program):
        target = target.value  # the rows of the table are in the order of any of its columns
    steps = list(read_again(target, node, use.scope.facts, islice(edges.into(target, node, use), MAX_READS + 1)))
    is_sorted = any(is_sorted_at(step.node, step.scope) for step in steps if isinstance(step, Use))
    return STOP if len(steps) > MAX_READS or is_sorted else _before_set_again(target, node, use, edges.program, steps)


def _is_column(target: ast.expr, use: Use[Shown], program: Program) -> TypeGuard[ast.Subscript]:
    """Whether items become a column of a table that the program makes: `table["image"] = names`."""
    if use.state != "sequence" or use.path or not isinstance(target, ast.Subscript):
        return False
    is_name = isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)
    return is_name and program.is_made_by({"pandas.DataFrame"}, target.value, use.scope)


def _before_set_again(
    target: ast.expr, node: ast.AST, use: Use[Shown], program: Program, steps: list[Step]
) -> list[Step]:
    """The reads of an attribute up to where the same block sets it to what a function of the project makes of it, into
    which the items are followed: `self.names = by_number(self.names)`."""
    if not isinstance(target, ast.Attribute) or not isinstance(node, ast.stmt):
        return steps
    facts, text = use.scope.facts, ast.unparse(target)
    block = block_of(facts, node)
    below = islice(block[block.index(node) + 1 :], MAX_BELOW) if node in block else ()
    for again in below:
        match again:
            case ast.Assign(targets=[ast.Attribute() as held], value=ast.Call() as made) if ast.unparse(held) == text:
                callees = program.values.callees(made, facts.scope_of(made))
                if all(isinstance(callee, Scope) for callee in callees):
                    span = start_of(node), (again.end_lineno or 0, again.end_col_offset or 0)
                    return [s for s in steps if isinstance(s, Use) and _is_within(s, facts, *span)]
    return steps


def _is_within(use: Use[Shown], facts: ModuleFacts, first: tuple[int, int], end: tuple[int, int]) -> bool:
    return use.scope.facts is facts and first < start_of(use.node) < end


def read_again(target: ast.expr, node: ast.AST, facts: ModuleFacts, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps without the reads that stand above in the same loop, of what each round puts at a place of its own:
    `for i in range(9): use(x[i]); x[i] = y` reads there what nobody has put yet."""
    loop = _loop_over_places(target, node, facts)
    if loop is None:
        yield from steps
        return
    first, last = start_of(loop), start_of(node)
    for step in steps:
        if not (isinstance(step, Use) and step.scope.facts is facts and first < start_of(step.node) < last):
            yield step


def _loop_over_places(target: ast.expr, node: ast.AST, facts: ModuleFacts) -> ast.stmt | None:
    """The loop around `node` that gives `x[i]` its `i`."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name):
        return None
    loops = (loop for loop in loops_around(facts, node) if isinstance(loop, ast.For | ast.AsyncFor))
    return next((loop for loop in loops if target.slice.id in names_in(loop.target)), None)


def saves(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a function of the catalogue writes its argument to a file."""
    name = program.qualified(call.func, scope) or ""
    is_saved = catalogue.table("order")["functions"]["decides"].get(name) == SAVED
    return bool(is_saved) and not gives_text(name, call)


def gives_text(name: str, call: ast.Call) -> bool:
    """Whether a function gives its argument as a text, `json.dumps(x)`, `yaml.dump(x)`, which may be written or not."""
    table = catalogue.table("order")["functions"]
    stream = table["texts_unless_given"].get(name)
    is_given = len(call.args) > 1 or any(k.arg in (stream, None) for k in call.keywords)
    return name in table["texts"] or (stream is not None and not is_given)


def is_sorted_at(node: ast.expr, scope: Scope) -> bool:
    """Whether the order of what `node` reads is fixed from there on, or wherever someone asks for it: `x.sort()`,
    `x[:] = sorted(x)`, `x = sorted(x)`, `x = sorted(i for i in x if i)`, `x = dict(sorted(x.items()))`, or
    `x[key] = x[key].sort_values("name")`."""
    parents = scope.facts.parents
    holder = parents[node]
    if isinstance(holder, ast.Subscript) and holder.value is node and isinstance(parents[holder], ast.Attribute):
        node, holder = holder, parents[holder]
    if isinstance(holder, ast.Attribute):
        if isinstance(call := parents[holder], ast.Call) and holder.attr in ("sort_values", "sort_index"):
            is_inplace = any(
                k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True
                for k in call.keywords
            )
            return is_inplace or _is_stored_as(node, call, scope)
        if holder.attr not in ("items", "keys"):
            return holder.attr == "sort" and not (isinstance(call, ast.Call) and keeps_ties(call))
        holder = parents[parents[holder]]
    if isinstance(holder, ast.Subscript) and isinstance(holder.slice, ast.Slice) and isinstance(holder.ctx, ast.Store):
        value = getattr(parents[holder], "value", None)
        return isinstance(value, ast.Call) and sorts(value)
    made = _chosen_from(node, scope)
    holder = parents[made] if made is not node else holder
    if not isinstance(holder, ast.Call) or not sorts(holder) or keeps_ties(holder):
        return False
    is_asked_for = isinstance(parents[holder], ast.IfExp)  # `return sorted(names) if sort else names`
    return is_asked_for or _is_stored_as(node, holder, scope)


def _chosen_from(node: ast.expr, scope: Scope) -> ast.expr:
    """The list or set of items of `node` that are made at once: `[i for i in x if i]`, `set(x)`."""
    parents = scope.facts.parents
    match parents[node]:
        case ast.comprehension(iter=items) as loop if items is node:
            made = parents[loop]
            return (
                _chosen_from(made, scope) if isinstance(made, ast.ListComp | ast.SetComp | ast.GeneratorExp) else node
            )
        case ast.Call(func=ast.Name(id="list" | "set" | "tuple" | "filter")) as made:
            return _chosen_from(made, scope)
    return node


def _is_stored_as(node: ast.expr, made: ast.expr, scope: Scope) -> bool:
    """Whether what is `made` takes the place of what `node` reads."""
    statement = scope.facts.statement(made)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(ast.unparse(target) == ast.unparse(node) for target in targets)


def sorts(call: ast.Call) -> bool:
    """Whether a call sorts, by its name: `sorted`, `natsorted`, `sort_by_number`."""
    last = last_name(call.func)
    return "sort" in last.lower() and last != "argsort"


def keeps_ties(call: ast.Call) -> bool:
    """Whether a call sorts by what many items have alike, as their length, which leaves these in the order in which
    they come: `sorted(names, key=len)`, `names.sort(key=lambda name: -len(name))`."""
    return sorts(call) and is_shared_key(sort_key(call))


def is_shared_key(key: ast.expr | None) -> bool:
    """Whether many items have alike what a function gives of them: `len`, `words.count`."""
    return key is not None and last_name(key) in catalogue.table("order")["shared_keys"]["names"]


def sort_key(call: ast.Call) -> ast.expr | None:
    """The function that a call compares by: `len` of `key=len` and of `key=lambda name: -len(name)`; what a lambda
    reads otherwise: `counts[name]`."""
    key = keyword_value(call, "key")
    if not isinstance(key, ast.Lambda):
        return key
    read = key.body.operand if isinstance(key.body, ast.UnaryOp) else key.body
    return read.func if isinstance(read, ast.Call) else read


def _takes_suffix(method: ast.Attribute, facts: ModuleFacts) -> bool:
    """Whether a text is split at its dots and the last part is taken: `name.split(".")[-1]`."""
    match facts.parents[method]:
        case ast.Call(args=[ast.Constant(value="."), *_]) as call if method.attr in ("split", "rsplit", "rpartition"):
            match facts.parents[call]:
                case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
                    return True
    return False


def _is_suffix(part: ast.AST, call: ast.Call) -> bool:
    """Whether this is the suffix of what a call takes apart: `os.path.splitext(name)[1]`."""
    match part:
        case ast.Subscript(slice=ast.Constant(value=1) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return last_name(call.func) == "splitext"
    return False


def is_shared(node: ast.AST, facts: ModuleFacts, names: int = 0) -> bool:
    """Whether only what all items share is taken from one: that there is one, its folder, its suffix, the size of the
    image in it."""
    for _ in range(5):
        parent = facts.parents[node]
        match parent:
            case ast.Compare(comparators=[ast.Constant(value=None)]) | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Attribute(attr=attr) if attr in _SHARED or _takes_suffix(parent, facts):
                return True
            case ast.Call(func=ast.Attribute(attr="dirname") | ast.Name(id="dirname" | "bool")):
                return True
            case ast.Call():
                if _is_suffix(facts.parents[parent], parent):
                    return True
                node = parent
            case ast.Subscript(slice=key) if key is node:  # `rows[name].shape`
                node = parent
            case ast.Subscript(slice=ast.Constant(value=int())):  # `names[0]`, of a folder that is walked through
                node = parent
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.withitem(optional_vars=ast.Name(id=name)) if (
                names < MAX_NAMES
            ):
                reads = facts.reads(facts.scope_of(node).function.node).of_name(name)
                return bool(reads) and all(is_shared(read, facts, names + 1) for read in reads)
            case _:
                return False
    return False
