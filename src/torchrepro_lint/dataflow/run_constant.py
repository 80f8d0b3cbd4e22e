"""Whether an expression keeps its value for as long as a process runs: constants, options, ranks, sums of these.

A name counts when everything that is ever assigned to it does. Where that cannot be seen, an option or parameter
counts when its name speaks of a seed, a rank or a worker; anything else does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.project.names import Variable

MAX_DEPTH = 8
_STAYS = re.compile(r"seed|rank|worker|world_size", re.IGNORECASE)
_CHANGES = re.compile(r"epoch|step|iter|batch|idx|index", re.IGNORECASE)
_PLAIN = frozenset({"builtins.int", "builtins.abs", "builtins.min", "builtins.max", "builtins.str",
                    "torch.distributed.get_rank", "torch.distributed.get_world_size", "os.getenv",
                    "os.environ.get"})  # fmt: skip
_WORKER = "torch.utils.data.get_worker_info"
_OF_WORKER = frozenset({"id", "num_workers"})


class Steady:
    """Answers for one check. `besides`: names of parameters of `of` that count, e.g. a worker's number."""

    def __init__(self, program: Program, of: Scope | None = None, besides: Collection[str] = ()) -> None:
        self.program = program
        self._of = of
        self._besides = besides
        self._active: set[ast.AST] = set()

    def keeps(self, expr: ast.expr, scope: Scope) -> bool:
        """Whether `expr` has one value; what refers to itself, as `seed = seed + 1` does, has not."""
        if expr in self._active or len(self._active) > 4 * MAX_DEPTH:
            return False
        self._active.add(expr)
        kept = self._keeps(expr, scope)
        self._active.discard(expr)
        return kept

    def _keeps(self, expr: ast.expr, scope: Scope) -> bool:
        match expr:
            case ast.Constant():
                return True
            case ast.Name():
                return self._name(expr, scope)
            case ast.Attribute():
                return self._attribute(expr, scope)
            case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)):
                known = self.program.qualified(value, scope) == "os.environ"
                return known or (self._stays(key) and self._is_held(value, scope))
            case ast.Call():
                plain = self.program.callee(expr, scope) in _PLAIN
                return plain and all(self.keeps(a, scope) for a in expr.args) and not expr.keywords
            case ast.BinOp() | ast.UnaryOp() | ast.IfExp() | ast.BoolOp():
                parts = [n for n in ast.iter_child_nodes(expr) if isinstance(n, ast.expr)]
                return all(self.keeps(part, scope) for part in parts)
        return False

    # -- names --------------------------------------------------------------------------------------------------
    def _name(self, expr: ast.Name, scope: Scope) -> bool:
        owner = scope.binding_scope(expr.id)
        if owner is None:
            return False
        if owner is self._of and expr.id in self._besides:
            return True
        target = self.program.resolve(expr, scope)
        if isinstance(target, Variable):
            owner = target.scope
            return all(self._binding(b, expr.id, owner) for b in target.bindings)
        return False

    def _binding(self, binding: Binding, name: str, owner: Scope) -> bool:
        match binding.kind:
            case "assign" if binding.value is not None:
                return self.keeps(binding.value, owner)
            case "parameter" if owner.kind == "function":
                return self._parameter(binding, name, owner)
        return False

    def _parameter(self, binding: Binding, name: str, function: Scope) -> bool:
        calls = self.program.callers_of(function)
        if not calls:
            return self._stays(name)
        for call, caller in calls:
            passed = argument_for(call, function, name)
            if passed is None:
                passed = binding.value
            if not isinstance(passed, ast.expr):
                if not self._stays(name):
                    return False
            elif not self.keeps(passed, caller if passed is not binding.value else function.parent or function):
                return False
        return True

    # -- attributes -----------------------------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, scope: Scope) -> bool:
        if _CHANGES.search(expr.attr):
            return False
        made = self.program.origins(expr.value, scope)
        if any(isinstance(o, Result) and o.callee == _WORKER for o in made):
            return expr.attr in _OF_WORKER
        known = self.program.constants(expr, scope)
        sets = scope.facts.attribute_sets.get(expr.attr, ())
        if not all(s.value is not None and self.keeps(s.value, s.scope) for s in sets):
            return False
        return known is not None or (self._stays(expr.attr) and self._is_held(expr.value, scope))

    def _is_held(self, holder: ast.expr, scope: Scope) -> bool:
        """Whether the options themselves stay: not what a loop goes through."""
        while isinstance(holder, ast.Attribute | ast.Subscript):
            holder = holder.value
        if not isinstance(holder, ast.Name):
            return False
        owner = scope.binding_scope(holder.id)
        bindings = owner.bindings[holder.id] if owner is not None else []
        return all(b.kind != "loop" for b in bindings)

    @staticmethod
    def _stays(name: str) -> bool:
        return bool(_STAYS.search(name)) and not _CHANGES.search(name)
