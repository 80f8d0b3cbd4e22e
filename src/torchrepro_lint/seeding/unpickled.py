"""Methods of a model that was pickled as a whole: `torch.load(path)["model"].infer(x)`.

The file does not tell its class, but the project's modules with such a method do, where they are few.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.abstract_values import Origin, Result, Unknown
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope

MAX_CALLS = 6  # between the model and the call that loads it
MAX_METHODS = 3
MAX_FILES = 12  # with functions of that name, which are read to see whose methods they are


def methods_of_unpickled(call: ast.Call, scope: Scope, program: Program) -> tuple[Scope, ...]:
    """The methods of the project's modules that a call on an unpickled object may run."""
    function = call.func
    defining = program.project.text.defining(function.attr) if isinstance(function, ast.Attribute) else []
    if not isinstance(function, ast.Attribute) or not 0 < len(defining) <= MAX_FILES:
        return ()
    if not _is_unpickled(function.value, scope, program, set()):
        return ()
    found: list[Scope] = []
    for facts in program.loaded(sorted(defining)):
        for owner in facts.scope.children.values():
            method = program.names.method(owner, function.attr) if owner.kind == "class" else None
            if method is not None and method.parent is owner:
                found += [method] if any(b.startswith("torch.nn.") for b in program.external_bases(owner)) else []
    return tuple(found) if len(found) <= MAX_METHODS else ()


def _is_unpickled(node: ast.expr, scope: Scope, program: Program, seen: set[ast.Call]) -> bool:
    """Whether a value may be, or come from, what `torch.load` returned, through methods and keys."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            if node in seen:
                return False
            seen.add(node)
            if program.callee(node, scope) == "torch.load":
                return True
            node = node.func
            if not isinstance(node, ast.Attribute):
                return False
        node = node.value
    if not isinstance(node, ast.Name) or len(seen) > MAX_CALLS:
        return False
    return any(_is_from_file(o, program, seen) for o in program.origins(node, scope))


def _is_from_file(origin: Origin, program: Program, seen: set[ast.Call]) -> bool:
    """An item of what a call returned is unknown, at that call."""
    match origin:
        case (
            Result(callee=str() | None, node=call, scope=scope)
            | Unknown(node=ast.Call() as call, scope=Scope() as scope)
        ):
            return _is_unpickled(call, scope, program, seen)
    return False
