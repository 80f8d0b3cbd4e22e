"""Which lists hold the numbers that `enumerate` counts, each once, as they are gathered to index a tensor by them.

Reads one function: how the list, or the table of lists, is filled. Knows nothing of tensors.
"""

from __future__ import annotations

import ast

from torchrepro_lint.index import Binding, Scope


def holds_counts(expr: ast.expr, scope: Scope) -> bool:
    """Whether `expr` is a list, or one of the lists of a table, that only counts of one loop are appended to."""
    binding = _binding(expr, scope)
    if isinstance(expr, ast.Name) and binding is not None and binding.kind in ("loop", "unpack"):
        expr = binding.value or expr  # `for size, rows in table.items()`
    table = _root(expr)
    filled = [
        _is_count(call.args[0], where)
        for call, where in scope.facts.calls.get("append", ())
        if where.function is scope.function and table is not None and len(call.args) == 1 and _root(call.func) == table
    ]
    return bool(filled) and all(filled)


def _is_count(expr: ast.expr, scope: Scope) -> bool:
    """`i` in `for i, x in enumerate(xs)`."""
    binding = _binding(expr, scope)
    if binding is None or binding.path != (0,) or not isinstance(binding.value, ast.Call):
        return False
    return isinstance(binding.value.func, ast.Name) and binding.value.func.id == "enumerate"


def _binding(expr: ast.expr, scope: Scope) -> Binding | None:
    """The only binding of a name."""
    owner = scope.binding_scope(expr.id) if isinstance(expr, ast.Name) else None
    found = owner.bindings[expr.id] if owner is not None and isinstance(expr, ast.Name) else []
    return found[0] if len(found) == 1 else None


def _root(expr: ast.expr) -> str | None:
    """`table` of `table.setdefault(key, []).append` and `table[key]`."""
    while not isinstance(expr, ast.Name):
        match expr:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner):
                expr = inner
            case _:
                return None
    return expr.id
