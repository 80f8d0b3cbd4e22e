"""Generator objects that the methods of a data set draw from: made once, copied into every worker of a loader.

Follows variables of the module and attributes that the constructor sets. A class that asks which worker it runs
in, or gives the generator another state later, is taken to be right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow import Call, Module, Program, Site, remembered
from torchrepro_lint.dataflow.references import reads_of_target
from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope, walk
from torchrepro_lint.loading.loaders import argument, loaders, workers
from torchrepro_lint.project.names import Target
from torchrepro_lint.rng.generators import is_drawn_from, is_given_a_state

MAX_DEPTH = 3
_DATASETS = ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "monai.data.Dataset",
             "torch_geometric.data.Dataset")  # fmt: skip
_ITEMS = ("__getitem__", "__getitems__", "__iter__")


class Drawn(NamedTuple):
    """A draw in `method` of a data set; `loader` is one whose workers run it, None when none is known."""

    node: ast.expr
    scope: Scope
    method: str
    loader: Call | None


def drawn_in_workers(call: Call, program: Program) -> Drawn | None:
    """The first draw, by a loader's workers, from the generator that `call` makes."""
    holder = call.facts.statement(call.node)
    target = _held_by(holder, call.node)
    is_early = call.scope.kind == "module" or call.scope.function.name.endswith("__init__")
    if target is None or not is_early or is_given_a_state(_bare(call), program):
        return None
    reads = [site for site in reads_of_target(target, holder, call.scope, program) if is_drawn_from(site, program)]
    for site in reads:
        owner = site.scope.method_class
        if owner is not None and _is_dataset(owner, program) and not _knows_workers(owner, program):
            method = _item_method(site.scope.function, owner, program)
            found = _loader_of(owner, program) if method is not None else None
            if method is not None and found is not None:
                return Drawn(site.node, site.scope, method, found[0])
    return None


def _held_by(statement: ast.stmt, made: ast.expr) -> ast.expr | None:
    """The variable of a module, or the attribute, that alone holds the generator."""
    match statement:
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
            if value is made or _is_seeded_at_once(value, made):
                return target
    return None


def _is_seeded_at_once(value: ast.expr | None, made: ast.expr) -> bool:
    """`torch.Generator().manual_seed(7)`"""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="manual_seed")):
            return inner is made
    return False


def _bare(call: Call) -> Call:
    """The call that stands in the assignment: for `Generator().manual_seed(7)`, the outer one."""
    parent = call.facts.parents[call.node]
    outer = call.facts.parents.get(parent)
    is_seeded = isinstance(parent, ast.Attribute) and isinstance(outer, ast.Call)
    return Call(outer, call.scope, call.name, call.program) if is_seeded else call  # type: ignore[arg-type]


# -- data sets ------------------------------------------------------------------------------------------------
def _is_dataset(owner: Scope, program: Program) -> bool:
    return any(b in _DATASETS or b.startswith("torchvision.datasets.") for b in program.external_bases(owner))


def _knows_workers(owner: Scope, program: Program) -> bool:
    classes = program.names.classes(owner)
    return any(
        scope.method_class in classes for base in classes for _, scope in base.facts.calls.get("get_worker_info", ())
    )


def _item_method(function: Scope, owner: Scope, program: Program) -> str | None:
    """The method, called for an item or a pass, that `function` is or is called by."""
    for name in _ITEMS:
        method = program.names.method(owner, name)
        if method is not None and function in _reached(method, owner, program, 0):
            return name
    return None


def _reached(method: Scope, owner: Scope, program: Program, depth: int) -> Iterator[Scope]:
    """The methods of an object of `owner` that a method runs."""
    yield method
    if depth == MAX_DEPTH or not isinstance(method.node, FunctionNode):
        return
    for node in walk(method.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if name == method.self_name:
                inner = program.names.method(owner, attr)
                if inner is not None and inner is not method:
                    yield from _reached(inner, owner, program, depth + 1)


# -- loaders --------------------------------------------------------------------------------------------------
def _loader_of(owner: Scope, program: Program) -> tuple[Call | None] | None:
    """A loader with workers over such a data set; (None,) when no loader is known, None when none has workers
    that keep their copies."""
    found = list(_loaders_of(owner, program))
    if not found:
        return (None,)
    busy = [c for c in found if workers(c) is not False and _keeps_copies(c, program)]
    return (busy[0],) if busy else None


def _keeps_copies(loader: Call, program: Program) -> bool:
    """Whether nothing changes the data set of a worker when that starts."""
    given = argument(loader, "worker_init_fn")
    return given is None or (isinstance(given, Site) and _only_calls_outside(program.resolve(*given), program))


def _only_calls_outside(function: Target | None, program: Program, further: int = MAX_DEPTH) -> bool:
    """Whether a function sets nothing of others and asks for no data set, nor does what it calls: it seeds the
    generators of libraries, say."""
    if not isinstance(function, Scope) or function.kind != "function":
        return isinstance(function, str) and not function.endswith("get_worker_info")
    is_set = (isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in walk(function.node))
    if not further or function.outer or any(is_set):
        return False
    called = (program.resolve(call.func, scope) for call, scope in function.calls)
    return all(_only_calls_outside(callee, program, further - 1) for callee in called)


def _loaders_of(owner: Scope, program: Program) -> Iterator[Call]:
    name = owner.own_name
    for facts in program.loaded(program.project.text.mentioning(name) or [owner.facts.source.path]):
        yield from _loaders_by_dataset(facts, program).get(owner, ())


@remembered
def _loaders_by_dataset(facts: ModuleFacts, program: Program) -> dict[Scope, list[Call]]:
    """The loaders of a file, by the classes that their data set may be of."""
    found: dict[Scope, list[Call]] = {}
    for call in Module(facts, program).calls(loaders().keys()):
        dataset = argument(call, "dataset")
        for owner in dict.fromkeys(program.classes_of(*dataset)) if isinstance(dataset, Site) else ():
            found.setdefault(owner, []).append(call)
    return found
