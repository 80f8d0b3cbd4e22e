"""What the workers of a loader draw from, to fetch the items of its data set and to collate them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow import Call, Module, Program, Site, remembered
from torchrepro_lint.dataflow.abstract_values import Display, Result, Unknown
from torchrepro_lint.dataflow.filling import filling
from torchrepro_lint.index import Scope, arguments_of
from torchrepro_lint.loading.exchanged import exchanged
from torchrepro_lint.loading.loaders import argument, lacks_generator, lacks_worker_init, loader_calls, workers
from torchrepro_lint.loading.worker_calls import DrawKind, WorkerCalls, WorkerDraw

_ITEMS = ("__getitem__", "__getitems__", "__iter__")
_SPLITS = ("torch.utils.data.Subset", "torch.utils.data.random_split", "torch.utils.data.ConcatDataset",
           "torch.utils.data.ChainDataset")  # fmt: skip
_SUBSETS = _SPLITS[:2]
_PLAIN = ("torch.utils.data.TensorDataset", "builtins.range", "builtins.list", "builtins.zip", "torch.arange")


class WorkerDraws(NamedTuple):
    """All draws that were found; `unseen` when there may be others. `dataset` is the class of the data set, or of
    the one inside as many `layers` of subsets, if it is one class."""

    found: tuple[WorkerDraw, ...]
    unseen: bool
    dataset: Scope | None
    layers: int
    is_one_class: bool

    def first(self, kind: DrawKind) -> WorkerDraw | None:
        """The first draw of a kind."""
        return next((d for d in self.found if d.kind == kind), None)


def worker_draws(call: Call) -> WorkerDraws:
    """What the workers of the loader made by `call` draw from."""
    return _draws(call, call.program)


@remembered
def _draws(call: Call, program: Program) -> WorkerDraws:  # noqa: ARG001
    calls = WorkerCalls(call.program)
    datasets = _DataSets(calls)
    dataset = argument(call, "dataset")
    if isinstance(dataset, Site):
        datasets.follow(dataset.node, dataset.scope)
    else:
        calls.unseen = True
    collate = argument(call, "collate_fn")
    if isinstance(collate, Site):
        calls.value(collate.node, collate.scope)
    classes = datasets.classes
    direct = classes[0] if len(classes) == 1 else None
    return WorkerDraws(calls.draws(), calls.unseen, direct, datasets.layers, is_one_class=len(classes) < 2)


def unseen_loaders(module: Module) -> Iterator[Call]:
    """The loaders of a file that have workers, or may, which nobody seeds and whose draws cannot be seen."""
    for call in loader_calls(module.facts, module.program):
        if workers(call) is not False and lacks_worker_init(call) and lacks_generator(call):
            draws = worker_draws(call)
            if draws.unseen and not draws.found:
                yield call


class _DataSets:
    """Finds the classes of a data set, or of what it is a subset of, and has their methods followed."""

    def __init__(self, calls: WorkerCalls) -> None:
        self.calls = calls
        self.program = calls.program
        self.classes: list[Scope] = []
        self.layers = 0  # of subsets around it

    def follow(self, expr: ast.expr, scope: Scope, outer: tuple[Site, ...] = ()) -> None:
        """`outer` are the names of the subsets around it."""
        if not self.calls.is_new(expr, scope):  # `data = split(data)`: a name that is part of its own origin
            return
        for origin in self.program.origins(expr, scope):
            match origin:
                case Result(callee=Scope(kind="class") as owner):
                    self.classes.append(owner)
                    self.calls.hold(owner, origin)
                    for name in (*outer, Site(expr, scope)):
                        self.calls.exchange(owner, exchanged(*name, owner, self.program))
                    if sum(self._entered(owner, name) for name in _ITEMS) == 0:
                        self._inherited(origin, owner)
                case Result(callee=str() as name, node=made, scope=where):
                    self._known_dataset(name, made, where, (*outer, Site(expr, scope)))
                case Unknown(node=ast.Call() as split, scope=Scope() as where):
                    maker = self.program.qualified(split.func, where)
                    self._known_dataset(maker or "", split, where, (*outer, Site(expr, scope)))
                case Display():
                    pass
                case _:
                    self.calls.unseen = True

    def _entered(self, owner: Scope, name: str) -> bool:
        self.calls.entry = name
        return self.calls.methods(owner, (name,))

    def _known_dataset(self, name: str, made: ast.Call, scope: Scope, names: tuple[Site, ...]) -> None:
        if name in _SPLITS and made.args:
            outer = self.classes.copy()
            for part in self._parts(made.args[0], scope):
                self.follow(*part, names)
            if name in _SUBSETS:
                self.layers += 1
            else:
                self.classes = outer
        elif name.startswith("torchvision.datasets."):
            for passed in arguments_of(made):
                self.calls.passed(passed, scope)
        elif name not in _PLAIN:
            self.calls.unseen = True

    def _parts(self, held: ast.expr, scope: Scope) -> Iterator[Site]:
        """The data set that is split, or those in the list that is joined, whenever the program puts them there."""
        for origin in self.program.origins(held, scope) if self.calls.is_new(held, "parts") else ():
            match origin:
                case Display(node=ast.List(elts=items) | ast.Tuple(elts=items) as made, scope=where):
                    yield from (Site(item, where) for item in items)
                    for put in filling(made, where, self.program).puts:
                        yield from self._parts(put.node, put.scope) if put.many else (Site(put.node, put.scope),)
                case Display(node=ast.ListComp(elt=item) | ast.GeneratorExp(elt=item), scope=where):
                    yield Site(item, where.facts.scope_of(item))
                case Unknown(node=ast.AugAssign(op=ast.Add(), value=added), scope=Scope() as where):
                    yield from self._parts(added, where)
                case Unknown(node=ast.BinOp(left=left, op=ast.Add(), right=right), scope=Scope() as where):
                    yield from (part for side in (left, right) for part in self._parts(side, where))
                case _:
                    yield Site(held, scope)

    def _inherited(self, made: Result, owner: Scope) -> None:
        """A data set whose items come from an external base: its transforms are what it draws with."""
        bases = self.program.external_bases(owner)
        if not any(b.startswith("torchvision.datasets.") for b in bases):
            self.calls.unseen = True
        for passed in arguments_of(made.node):
            self.calls.passed(passed, made.scope)
