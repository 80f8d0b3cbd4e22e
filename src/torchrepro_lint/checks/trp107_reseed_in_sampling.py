"""TRP107: the global generators get the same seed again for each sample, batch, step or epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.dataflow.conditions import PathCondition, conditions
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.dataflow.run_constant import RunConstant
from torchrepro_lint.elements import Level
from torchrepro_lint.index import ModuleFacts, Scope, arguments_of, last_name, walk
from torchrepro_lint.rng.predicates import flag
from torchrepro_lint.rng.reseeds import SeedCall, is_helper, seed_calls
from torchrepro_lint.seeding.repeated import repeated_by

_SEED = re.compile(r"seed", re.IGNORECASE)
_EVALUATES = re.compile(r"(?:^|_)(?:test|testing|eval|evaluate|evaluation|val|valid|validate|validation)(?:$|_)")
_TESTED = re.compile(r"seed|worker", re.IGNORECASE)


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report the first such seed of each function."""
    lasting = RunConstant(program)
    reported: set[Scope] = set()
    for seeding in seed_calls(module, program):
        function = seeding.scope.function
        if seeding.seed is None or function in reported or _is_judged_at_calls(function, program):
            continue
        if function.kind == "module" and next(loops_around(module.facts, seeding.node), None) is None:  # it runs once
            continue
        if not lasting.keeps(seeding.seed.node, seeding.seed.scope) or not _is_passed_constants(seeding, lasting):
            continue
        if _is_left_to_callers(seeding, program):
            continue
        tests = [c for c in conditions(seeding.node, seeding.scope) if not _leaves_evaluation_out(c)]
        periodic = [c for c in tests if _holds_every_few_rounds(c, module.facts)]
        if not all(_is_about_seeds(c, seeding.scope, program) for c in tests if c not in periodic):
            continue
        unit = repeated_by(seeding.node, seeding.scope, program)
        if unit is not None and (unit in ("step", "epoch") or not periodic):
            reported.add(function)
            unit = "epoch" if _is_once_per_worker(seeding.node, seeding.scope) else unit
            seed = seeding.seed.scope.facts.text(seeding.seed.node)
            message, level = ("periodic", Level.WARNING) if periodic else (None, None)
            slots = {"call": seeding.written, "seed": seed, "unit": unit}
            yield Draft(seeding.node, slots, message=message, level=level)


def _is_passed_constants(seeding: SeedCall, lasting: RunConstant) -> bool:
    """Whether no argument of the seeder varies: helpers may mix an epoch or an index into the seed."""
    passed = arguments_of(seeding.node)
    return all(lasting.keeps(value, seeding.scope) for value in passed)


def _is_left_to_callers(seeding: SeedCall, program: Program) -> bool:
    """Whether the seed is a parameter that is None by default, and no caller is seen to give one."""
    seed, scope = seeding.seed.node if seeding.seed is not None else None, seeding.scope
    made = scope.bindings_of(seed) if isinstance(seed, ast.Name) else ()
    if len(made) != 1 or made[0].kind != "parameter" or not isinstance(made[0].value, ast.Constant):
        return False
    return made[0].value.value is None and not program.callers_of(scope.function)


def _is_judged_at_calls(function: Scope, program: Program) -> bool:
    """A helper is reported where it is called."""
    name = function.own_name
    says = function.kind == "function" and _SEED.search(name) is not None
    return program.by_name(says, "that a function seeds", function, name) or is_helper(function, program)


def _is_about_seeds(condition: PathCondition, scope: Scope, program: Program) -> bool:
    """Whether a test is about a seed or a worker."""
    return any(map(_TESTED.search, _words(condition.test, scope, program)))


def _holds_every_few_rounds(condition: PathCondition, facts: ModuleFacts) -> bool:
    """`if step % 100 == 0:` in a loop."""
    in_loop = next(loops_around(facts, condition.owner), None) is not None
    return in_loop and any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in walk(condition.test))


def _leaves_evaluation_out(condition: PathCondition) -> bool:
    """`if self.is_test: return`"""
    found = flag(condition.test)
    return found is not None and found.on is (not condition.holds) and _EVALUATES.search(found.name) is not None


def _words(test: ast.expr, scope: Scope, program: Program) -> Iterator[str]:
    """The names in a test, and what made the values that they stand for."""
    for node in walk(test):
        yield last_name(node)
        if isinstance(node, ast.Name):
            yield from (str(made.callee) for made in program.results(node, scope))


def _is_once_per_worker(node: ast.AST, scope: Scope) -> bool:
    """Whether a flag of the object, which each new worker gets a copy of, lets the call through only once."""
    tested = {n.attr for c in conditions(node, scope) for n in walk(c.test) if isinstance(n, ast.Attribute)}
    return any(s.scope.function is scope.function for name in tested for s in scope.facts.attribute_sets.get(name, ()))
