"""The states of the global generators: which calls take and put them, and whether what is put back was taken by the
program itself, which seeds nothing."""

from __future__ import annotations

import ast

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
    """Whether an expression may hold what calls of the program took, which seeds nothing where it is put back."""
    parts = state.elts if isinstance(state, ast.Tuple) else [state]  # `random.setstate((version, tuple(words), gauss))`
    return any(_is_of_taken(part, scope, program) for part in parts)


def _is_of_taken(part: ast.expr, scope: Scope, program: Program) -> bool:
    """The same of one item, which `version, words, gauss = state` may have given a name."""
    owner = scope.binding_scope(part.id) if isinstance(part, ast.Name) else None
    bindings = owner.bindings[part.id] if owner is not None and isinstance(part, ast.Name) else []
    if owner is not None and len(bindings) == 1 and bindings[0].value is not None and bindings[0].path:
        part, scope = bindings[0].value, owner
    return not TAKEN.keys().isdisjoint(program.makers(part, scope))
