"""The fix of TRP102: put the program's seed, or a constant, in place of one that is different on every run."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace as replaced
from typing import NamedTuple

from torchrepro_lint.dataflow import Program, remembered_in_file
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope, last_name, names_in
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.rng.chosen_seeds import Seeding
from torchrepro_lint.rng.entropy import Source
from torchrepro_lint.rng.own_seed import own_seed, seed_text
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.syntax import import_name, remove, replace

MAX_NAMED = 6  # the import of a clock, and what one fix may take
_PER_SAMPLE = frozenset({"__getitem__", "__getitems__", "__next__", "__call__", "forward", "collate_fn"})


def whole_value(source: Source, seeding: Seeding, program: Program) -> ast.expr:
    """The largest expression that only sources and constants determine: `int(time.time()) % 2**32`.

    What a function of the project is given is not what it returns: its calls end the search.
    """
    parents = source.scope.facts.parents
    sources = {s.node for s in seeding.sources}
    node: ast.expr = source.node
    while True:
        parent = parents.get(node)
        if not isinstance(parent, ast.expr) or parent is seeding.call or not _is_decided(parent, sources):
            return node
        if isinstance(parent, ast.Call) and isinstance(program.resolve(parent.func, source.scope), Scope):
            return node
        node = parent


def _is_decided(node: ast.AST, sources: set[ast.Call]) -> bool:
    """Whether only constants and sources determine the value of `node`."""
    match node:
        case ast.Constant() | ast.operator() | ast.unaryop() | ast.expr_context():
            return True
        case ast.Call(func=function, args=args, keywords=keywords) if node not in sources:
            passed = [*args, *(k.value for k in keywords)]
            if isinstance(function, ast.Attribute) and not _is_name(function):
                passed.append(function.value)
            return bool(passed) and all(_is_decided(value, sources) for value in passed)
        case ast.BinOp() | ast.UnaryOp() | ast.Subscript() | ast.Attribute() | ast.Slice():
            return all(_is_decided(child, sources) for child in ast.iter_child_nodes(node))
    return node in sources


def _is_name(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def seed_edits(program: Program, value: ast.expr, source: Source, seedings: list[Seeding]) -> tuple[Edit, ...]:
    """Replace `value` where it is passed or stored as a seed, else what the seeders here are given."""
    facts = source.scope.facts
    if tells_apart(source.node):
        return _stable_hash(source)
    if source.scope.function.own_name in _PER_SAMPLE:
        return ()
    for seeding in seedings:
        if _inside(facts, value, seeding.call):
            text, imports = seed_or_workers(program, seeding.scope, seeding.call)
            is_read = not text.isdecimal()
            if is_read and any(about_seed(c.test) for c in conditions(value, source.scope)):  # where none is given
                text = str(usual_seed(facts, program))
            whole = is_worker_init(seeding.scope)  # the worker's own seed needs nothing added
            if text == "0" and not whole and (rest := _added_to(facts, value)) is not None:
                return (replace(facts, facts.parents[value], facts.text(rest)),)
            return (replace(facts, seeding.seed.node if whole else value, text), *imports)
    if is_worker_init(source.scope):
        return ()  # epochs would begin alike, and what PyTorch gave the worker knows no ranks
    if _is_stored_as_seed(facts, value, source.scope):
        return (replace(facts, value, _stored(value, source.scope, program)),)
    here = [s for s in seedings if s.seed.scope.facts is facts and _inside(facts, s.seed.node, s.call)]
    if len(here) < len(seedings):
        return ()
    return tuple(replace(facts, s.seed.node, seed_text(s.scope, s.call, program)) for s in here)


class Clock(NamedTuple):
    """An import of a clock that stands alone on its line, with the name that it binds and where that is read."""

    node: ast.stmt
    name: str
    reads: list[Range]


def clocks(facts: ModuleFacts) -> list[Clock]:
    """Those that a file names seldom; none of a notebook, whose cells are run in any order."""
    names = (name for name, made in facts.scope.bindings.items() if len(made) == 1 and _is_clock(made[0], facts))
    found: list[Clock] = []
    for name in names if not facts.source.cells else ():
        node = facts.statement(facts.scope.bindings[name][0].node)
        is_rare = len(re.findall(rf"\b{re.escape(name)}\b", facts.source.text)) <= MAX_NAMED
        reads = facts.reads(facts.tree).of_name(name) if is_rare else []
        if reads and facts.source.line(node.lineno).strip() == facts.text(node):
            found.append(Clock(node, name, list(map(facts.range, reads))))
    return found


def imports_left_over(
    edits: Sequence[Edit], imported: Sequence[Clock], facts: ModuleFacts, program: Program
) -> tuple[Edit, ...]:
    """The removal of an import of clocks of which edits take all reads, from a file that no other imports."""
    removed = []
    taken = [e.range for e in edits if e.path == facts.source.rel and e.range.start != e.range.end]
    for node, name, reads in imported:
        is_taken = all(any(r.start <= read.start and read.end <= r.end for r in taken) for read in reads)
        is_written = any(re.search(rf"\b{re.escape(name)}\b", edit.text) for edit in edits)
        if is_taken and not is_written and not program.project.users([facts.source.path]):
            removed.append(_without_gap(remove(facts, node), node.lineno, facts))
    return tuple(removed)


def _is_clock(made: Binding, facts: ModuleFacts) -> bool:
    """`import time`, `from datetime import datetime`, alone and at the top level."""
    match made:
        case Binding(kind="import", node=ast.Import(names=[_]) | ast.ImportFrom(names=[_]) as node, target=target):
            return target.partition(".")[0] in ("time", "datetime") and facts.parents[node] is facts.tree
    return False


def _without_gap(edit: Edit, line: int, facts: ModuleFacts) -> Edit:
    """The removal of a line, with the blank line below it where there is one above, or nothing."""
    last = len(facts.source.line_starts)
    is_gap = line < last - 1 and not facts.source.line(line + 1).strip()
    if not is_gap or (line > 1 and facts.source.line(line - 1).strip()):
        return edit
    return replaced(edit, range=Range(edit.range.start, Position(line + 2, 1)))


def _stored(value: ast.expr, scope: Scope, program: Program) -> str:
    """What is stored as a seed: the program's own, where that is another one: `config.manual_seed = config.seed`."""
    facts = scope.facts
    own = own_seed(scope, facts.statement(value), program) if scope.kind == "function" else None
    targets = [ast.unparse(t) for t in getattr(facts.statement(value), "targets", ())]
    is_another = own is not None and "." in own.read and own.option.off is None and own.read not in targets
    return own.text if own is not None and is_another else str(usual_seed(facts, program))


def _added_to(facts: ModuleFacts, value: ast.expr) -> ast.expr | None:
    """What the value is added to: nothing has to be added to `rank`."""
    match facts.parents[value]:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            other = right if left is value else left
            return other if isinstance(other, ast.Name | ast.Attribute | ast.Call) else None
    return None


def tells_apart(node: ast.AST) -> bool:
    """Whether this is the hash of something that varies: one number in its place would seed all alike."""
    match node:
        case ast.Call(func=ast.Name(id="hash"), args=args):
            return bool(names_in(*args))
    return False


def _stable_hash(source: Source) -> tuple[Edit, ...]:
    """The checksum of what is hashed, which is the same in every process, in the place of the hash.

    It has 32 bits: of a part that only the upper bits of a hash decide, nothing would be left.
    """
    facts, call = source.scope.facts, source.node
    outer = [n.op for n in facts.ancestors(call) if isinstance(n, ast.BinOp)]
    if any(isinstance(op, ast.Div | ast.FloorDiv | ast.RShift) for op in outer):
        return ()
    function = import_name(facts, "zlib.crc32", source.scope, call)
    hashed, text = call.args[0], facts.text(call.args[0])
    are_bytes = isinstance(hashed, ast.Call) and last_name(hashed.func) in ("encode", "tobytes", "to_bytes")
    data = text if are_bytes else f"{text}.encode()" if _is_text(hashed, source.scope) else f"repr({text}).encode()"
    return (replace(facts, call, f"{function.text}({data})"), *function.edits)


def _is_text(node: ast.expr, scope: Scope) -> bool:
    """Whether a parameter is annotated as a text, or a text is written here."""
    if isinstance(node, ast.Name):
        bindings = scope.bindings_of(node)
        notes = (getattr(n, "annotation", None) for b in bindings for n in [b.node])
        return len(bindings) == 1 and all(isinstance(n, ast.Name) and n.id == "str" for n in notes)
    is_made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
    return is_made or isinstance(node, ast.JoinedStr)


def seed_or_workers(program: Program, scope: Scope, node: ast.AST) -> tuple[str, tuple[Edit, ...]]:
    """A seed as written at `node`; in a loader's worker, the one that PyTorch gave to this worker."""
    if is_worker_init(scope):
        name = import_name(scope.facts, "torch.initial_seed", scope, node)
        return f"{name.text}() % 2**32", name.edits
    return seed_text(scope, node, program), ()


def is_worker_init(scope: Scope) -> bool:
    """Whether a function is passed as `worker_init_fn` in its file, or is named as if it were."""
    if scope.kind == "lambda":
        return _is_passed(scope.facts.parents[scope.node])
    function = scope.function
    name = function.own_name
    if function.kind != "function" or ("worker" in name and ("init" in name or "seed" in name)):
        return function.kind == "function"
    return name in _worker_inits(scope.facts)


@remembered_in_file
def _worker_inits(facts: ModuleFacts) -> frozenset[str]:
    """The names that a file passes as `worker_init_fn`."""
    keywords = (k for call, _ in facts.every_call() for k in call.keywords)
    return frozenset(k.value.id for k in keywords if _is_passed(k) and isinstance(k.value, ast.Name))


def _is_passed(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == "worker_init_fn"


def _is_stored_as_seed(facts: ModuleFacts, value: ast.expr, scope: Scope) -> bool:
    """Whether the value is all that a variable named after a seed, or a function so named, gives."""
    for node in facts.ancestors(value):
        match node:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                return "seed" in last_name(target).lower()
            case ast.Return():
                function = scope.function.node
                return isinstance(function, FunctionNode) and "seed" in function.name.lower()
            case ast.stmt():
                return False
    return False


def _inside(facts: ModuleFacts, node: ast.AST, owner: ast.AST) -> bool:
    return any(a is owner for a in facts.ancestors(node))
