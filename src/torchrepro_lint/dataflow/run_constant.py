"""The domain of what keeps its value for as long as a process runs: constants, options, ranks, sums of these.

A name counts when everything that is ever assigned to it does. Where that cannot be seen, an option or parameter
counts when its name speaks of a seed, a rank or a worker; anything else does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from torchrepro_lint.dataflow.domain import Domain, Of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Binding, Scope

_STAYS = re.compile(r"seed|rank|worker|world_size", re.IGNORECASE)
_CHANGES = re.compile(r"epoch|step|iter|batch|idx|index", re.IGNORECASE)
_PLAIN = frozenset({"builtins.int", "builtins.abs", "builtins.min", "builtins.max", "builtins.str",
                    "torch.distributed.get_rank", "torch.distributed.get_world_size", "os.getenv",
                    "os.environ.get"})  # fmt: skip
_WORKER = "torch.utils.data.get_worker_info"
_OF_WORKER = frozenset({"id", "num_workers"})


@dataclass(frozen=True)
class RunConstant(Domain[bool]):
    """Joined by "all of them". `besides`: names of parameters of `of` that count, e.g. a worker's number."""

    program: Program
    of: Scope | None = None
    besides: tuple[str, ...] = ()
    nothing = False

    def keeps(self, expr: ast.expr, scope: Scope) -> bool:
        """Whether `expr` has one value."""
        return self.program.evaluate(expr, scope, self)

    def join(self, values: Sequence[bool]) -> bool:
        return all(values)

    def again(self, found: bool) -> bool:
        return False  # `seed = seed + 1`

    def constant(self, value: object, node: ast.expr, scope: Scope) -> bool:
        return True

    def named(self, name: str, found: bool, expr: ast.AST, scope: Scope) -> bool:
        given = isinstance(expr, ast.Name) and name in self.besides and scope.binding_scope(name) is self.of
        return found or given

    def chosen(self, test: ast.expr, found: bool, scope: Scope, of: Of[bool]) -> bool:
        return found and of(test, scope)

    def operator(self, node: ast.AST, scope: Scope, of: Of[bool]) -> bool:
        if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
            return False
        return all(of(part, scope) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[bool]) -> bool:
        return callee in _PLAIN and not call.keywords and all(of(a, scope) for a in call.args)

    def unpassed(self, call: ast.Call, caller: Scope, parameter: Binding, function: Scope, of: Of[bool]) -> bool:
        return self.parameter(parameter, function, of)

    def parameter(self, binding: Binding, function: Scope, of: Of[bool]) -> bool:
        return function.kind == "function" and self._stays(getattr(binding.node, "arg", ""), function)

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[bool]) -> bool:
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return False
        known = self.program.qualified(container, scope) == "os.environ"
        return known or (_is_held(container, scope) and self._stays(key.value, scope))

    def known_attribute(self, node: ast.Attribute, scope: Scope, of: Of[bool]) -> bool | None:
        if _CHANGES.search(node.attr):
            return False
        if _WORKER in self.program.makers(node.value, scope):
            return node.attr in _OF_WORKER
        sets = scope.facts.attribute_sets.get(node.attr, ())
        return None if all(s.value is not None and of(s.value, s.scope) for s in sets) else False

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[bool]) -> bool:
        return _is_held(node.value, scope) and self._stays(node.attr, scope)

    def _stays(self, name: str, scope: Scope) -> bool:
        says = bool(_STAYS.search(name)) and not _CHANGES.search(name)
        return self.program.by_name(says, "that a value stays the same in a run", scope, name)


def _is_held(holder: ast.expr, scope: Scope) -> bool:
    """Whether the options themselves stay: not what a loop goes through."""
    while isinstance(holder, ast.Attribute | ast.Subscript):
        holder = holder.value
    return isinstance(holder, ast.Name) and all(b.kind != "loop" for b in scope.bindings_of(holder))


def is_in_worker(test: ast.expr, scope: Scope, program: Program) -> bool | None:
    """Whether a test is true in the workers of a loader, and false elsewhere, or the other way; None for any other:
    `get_worker_info() is not None`, `if info:`."""
    match test:
        case ast.Compare(left=info, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
            answer = isinstance(op, ast.IsNot)
        case ast.UnaryOp(op=ast.Not(), operand=info):
            answer = False
        case info:
            answer = True
    return answer if set(program.makers(info, scope)) == {_WORKER} else None
