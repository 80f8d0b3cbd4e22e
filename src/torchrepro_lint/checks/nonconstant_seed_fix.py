"""The fix of TRP102: put the program's seed, or a constant, in the place of one that is new in every run."""

from __future__ import annotations

import ast

from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope
from torchrepro_lint.model import Edit
from torchrepro_lint.program import Program
from torchrepro_lint.program.chosen_seeds import Seeding, Source
from torchrepro_lint.syntax import import_name, replace

_PER_SAMPLE = frozenset({"__getitem__", "__getitems__", "__next__", "__call__", "forward", "collate_fn"})


def whole_value(source: Source, seeders: set[ast.AST]) -> ast.expr:
    """The largest expression that a source and constants alone decide: `int(time.time()) % 2**32`."""
    parents = source.scope.facts.parents
    node: ast.expr = source.node
    while True:
        parent = parents.get(node)
        if not isinstance(parent, ast.Call | ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Attribute):
            return node
        if parent in seeders or not all(
            n is node or _is_constant(n, parent) for n in ast.iter_child_nodes(parent)
        ):
            return node
        node = parent


def _is_constant(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Call) and node is parent.func:
        return isinstance(node, ast.Name | ast.Attribute)
    if isinstance(node, ast.keyword):
        node = node.value
    return not any(isinstance(n, ast.Name | ast.Call | ast.Attribute) for n in ast.walk(node))


def seed_edits(
    program: Program, value: ast.expr, source: Source, seedings: list[Seeding]
) -> tuple[Edit, ...]:
    """Replace `value` where it is passed or stored as a seed, else what the seeders here are given."""
    facts = source.scope.facts
    if source.scope.function.name.rpartition(".")[2] in _PER_SAMPLE:
        return ()
    for seeding in seedings:
        if _inside(facts, value, seeding.call):
            text, imports = seed_text(program, seeding.scope, seeding.call)
            return (replace(facts, value, text), *imports)
    if _is_stored_as_seed(facts, value, source.scope):
        return (replace(facts, value, str(program.seed)),)
    here = [s for s in seedings if s.seed.scope.facts is facts and _inside(facts, s.seed.node, s.call)]
    if len(here) < len(seedings):
        return ()
    return tuple(replace(facts, s.seed.node, program.seeds.expression(s.scope, s.call)) for s in here)


def seed_text(program: Program, scope: Scope, node: ast.AST) -> tuple[str, tuple[Edit, ...]]:
    """A seed as written at `node`; in a loader's worker, the one that PyTorch gave to this worker."""
    if is_worker_init(scope):
        name = import_name(scope.facts, "torch.initial_seed", scope)
        return f"{name.text}() % 2**32", name.edits
    return program.seeds.expression(scope, node), ()


def is_worker_init(scope: Scope) -> bool:
    """Whether a function is passed as `worker_init_fn` in its file, or is named as if it were."""
    function = scope.function
    if function.kind != "function":
        return False
    name = function.name.rpartition(".")[2]
    if "worker" in name and ("init" in name or "seed" in name):
        return True
    sites = (site for calls in scope.facts.calls.values() for site in calls)
    return any(
        keyword.arg == "worker_init_fn" and getattr(keyword.value, "id", None) == name
        for call, _ in sites
        for keyword in call.keywords
    )


def _is_stored_as_seed(facts: ModuleFacts, value: ast.expr, scope: Scope) -> bool:
    """Whether the value is all that a variable named after a seed, or a function so named, gives."""
    for node in facts.ancestors(value):
        match node:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                return "seed" in getattr(target, "attr", getattr(target, "id", "")).lower()
            case ast.Return():
                function = scope.function.node
                return isinstance(function, FunctionNode) and "seed" in function.name.lower()
            case ast.stmt():
                return False
    return False


def _inside(facts: ModuleFacts, node: ast.AST, owner: ast.AST) -> bool:
    return any(a is owner for a in facts.ancestors(node))
