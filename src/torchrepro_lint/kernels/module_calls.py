"""Where an object that one call constructs is called itself (`criterion = CrossEntropyLoss(); criterion(x, y)`), and
where all objects of a module class of the project are, if they can be followed.

Knows which calls give a module back, or run it. Judges nothing.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow import Call, CallSite, Program, remembered
from torchrepro_lint.dataflow.abstract_values import SAME_OBJECT
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import STOP, Argument, Sink, Steps, Use
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.layers import HOLDERS, SEQUENCE, Layers, has_parameters
from torchrepro_lint.project import roles

_WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile"})


def calls_of(call: Call, program: Program) -> list[CallSite]:
    """The calls of the object that `call` makes, as far as it can be followed."""
    return list(Follow(_ONE_OBJECT, program).found([Use(call.node, call.scope, None)]))


@remembered
def module_calls(owner: Scope, program: Program) -> tuple[CallSite, ...] | None:
    """The calls of the objects of a class; None where there may be others: a class derives from it, or one of its
    objects goes where it cannot be followed."""
    constructor = program.names.method(owner, "__init__")
    made = program.callers_of(constructor if constructor is not None and constructor.parent is owner else owner)
    is_derived_from = program.project.text.derives(owner.own_name)
    if not made or is_derived_from:
        return None
    if all(roles.of_file(scope.facts.source.rel, trains=False) is not None for _, scope in made):
        return None  # what only tests make is made for others
    found: list[CallSite] = []
    for call, scope in made:
        search = Follow(_ALL_OBJECTS, program)
        found += search.found([Use(call, scope, None)])
        if search.escaped:
            return None
    return tuple(found)


def is_outermost(owner: Scope, program: Program) -> bool:
    """Whether no other module that learns can be seen to make an object of a module class, itself or by a function
    that it calls; where none is made at all, as of a block that is chosen by its name, whether it learns nothing."""
    layers = Layers(program)
    constructor = program.names.method(owner, "__init__")
    is_own = constructor is not None and constructor.parent is owner
    made = (program.callers_of(constructor) if is_own and constructor is not None else None) or ()
    if not made:
        return not has_parameters(owner, program)
    makers = {scope.function for _, scope in made}
    makers |= {scope.function for maker in makers for _, scope in program.callers_of(maker) or ()}
    classes = {maker.method_class for maker in makers} - {None, owner}
    return not any(layers.is_module(c) and has_parameters(c, program) for c in classes if c is not None)


def _judge(use: Use[None], _: Edges) -> Steps | None:
    called = use.scope.facts.call_of(use.node)
    if called is not None:
        return (Sink((called, use.scope)),)
    if use.method is not None:
        name, call = use.method
        return (use.at(call),) if name in SAME_OBJECT else (Sink((call, use.scope)),) if name == "forward" else STOP
    return STOP if isinstance(use.parent, ast.Attribute) else None


def _wrapped(use: Use[None], argument: Argument, callee: str | Scope | None, _: Edges) -> Steps | None:
    if callee in _WRAPPERS:
        return (use.at(argument.call),)
    if callee in HOLDERS and use.path and argument.position == 0:  # `nn.ModuleList([STFT(n) for n in sizes])`
        return (use.at(argument.call),)
    return STOP if callee == "builtins.len" and use.path else None


def _in_front(use: Use[None], argument: Argument, callee: str | Scope | None, edges: Edges) -> Steps | None:
    """The first layer of a sequence is called with what the sequence is called with."""
    is_first = callee == SEQUENCE and argument.position == 0
    return (use.at(argument.call),) if is_first else _wrapped(use, argument, callee, edges)


_ONE_OBJECT: Policy[None, CallSite] = Policy("calls of an object", _judge, passed=_in_front, bound=64)
_ALL_OBJECTS: Policy[None, CallSite] = Policy("calls of a module", _judge, passed=_wrapped, is_complete=True, bound=120)
