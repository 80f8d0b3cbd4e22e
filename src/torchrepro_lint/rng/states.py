"""The states of the global generators: which calls take and put them, and whether what is put back was taken by the
program itself, which seeds nothing."""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope

TAKEN = {
    "torch.get_rng_state": "torch",
    "torch.random.get_rng_state": "torch",
    "numpy.random.get_state": "numpy",
    "random.getstate": "python",
}
"""The calls that take a state, and the family that it is of."""

PUT = {
    "torch.set_rng_state": "torch",
    "torch.random.set_rng_state": "torch",
    "numpy.random.set_state": "numpy",
    "random.setstate": "python",
}
"""The calls that put one."""


def is_taken(state: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether an expression holds what a call of the program took, and not what was saved by an earlier run."""
    if isinstance(state, ast.Tuple):  # `random.setstate((version, tuple(words), gauss))`
        return any(is_taken(item, scope, program) for item in state.elts)
    if isinstance(state, ast.Name) and (packed := _unpacked(state, scope)) is not None:
        return is_taken(*packed, program)
    found = program.origins(state, scope)
    return any(isinstance(o, Result) and o.callee in TAKEN for o in found)


def _unpacked(name: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """What `version, words, gauss = state` takes a name from."""
    owner = scope.binding_scope(name.id)
    bindings = owner.bindings[name.id] if owner is not None else []
    if owner is None or len(bindings) != 1 or bindings[0].value is None or not bindings[0].path:
        return None
    return bindings[0].value, owner
