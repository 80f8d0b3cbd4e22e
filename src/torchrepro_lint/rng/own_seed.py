"""The program's own seed as an expression at a place: of the seeds that names in scope hold there (`seed_sources`), the
innermost; for a generator, else what its function, or all that call it, seed with before; else the configured constant.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from torchrepro_lint.dataflow import CallSite, Program, Site, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Constant, is_configured
from torchrepro_lint.dataflow.binding import argument_for, named_parameters
from torchrepro_lint.dataflow.enclosing import is_in_body
from torchrepro_lint.index import LoopNode, Scope, walk
from torchrepro_lint.rng.draws import is_seeder
from torchrepro_lint.rng.own_seeders import OwnSeeder, seeders_in
from torchrepro_lint.rng.seed_options import is_seed
from torchrepro_lint.rng.seed_sources import SOURCES, Name, OwnSeed
from torchrepro_lint.rng.usual_seed import usual_seed

# What seeds torch and passes on its argument as it is: torch/random.py, accelerate/utils/random.py, transformers.
_STRICT = frozenset({"torch.manual_seed", "torch.random.manual_seed", "transformers.set_seed",
                     "accelerate.utils.set_seed", "accelerate.utils.random.set_seed"})  # fmt: skip
MAX_CALLERS = 3  # through which settings are handed on


def seed_text(scope: Scope, node: ast.AST, program: Program) -> str:
    """What an expert would write as the seed at `node`: `seed`, `SEED`, `args.seed` or a constant."""
    own = own_seed(scope, node, program)
    return own.text if own is not None else str(usual_seed(scope.facts, program))


def generator_seed(scope: Scope, node: ast.AST, program: Program) -> str:
    """The same for a generator that is made at `node`: what its function seeds with above comes before a constant, and
    before what may be none."""
    own = own_seed(scope, node, program)
    is_sure = own is not None and own.text == own.read
    given = seeded_with(scope.function, node, program) if not is_sure else _passed_seed(scope.function, node, program)
    if own is not None and (given is None or given.isdecimal()):
        return own.text
    return given or str(usual_seed(scope.facts, program))


def numbered(seed: str, number: int) -> str:
    """The seed of the `number`th of several generators, each with one of its own: `args.seed`, `args.seed + 1`."""
    return seed if not number else str(int(seed) + number) if seed.isdecimal() else added(seed, str(number))


def added(seed: str, term: str) -> str:
    """The sum of a seed and a term."""
    return f"({seed}) + {term}" if " or " in seed or " if " in seed else f"{seed} + {term}"


# -- names in scope -------------------------------------------------------------------------------------------------
def own_seed(scope: Scope, node: ast.AST, program: Program) -> OwnSeed | None:
    """The seed that a name holds at `node`: one of the innermost scope that has any."""
    groups = (g for owner in _owners(scope) for g in _seeds_of(owner, program))
    seeds = (s for group in groups for s in _held_at(scope, node, group))
    return next((s for s in seeds if _is_bound_before(s.name, scope, node)), None)


def parsed_above(scope: Scope, node: ast.AST, body: Sequence[ast.stmt], program: Program) -> OwnSeed | None:
    """The same in arguments that `body` parses above `node`, though their name is bound to something else by then."""
    groups = _seeds_of(scope.function, program) if scope.function in _owners(scope) else ()
    seeds = (s for group in groups for s in group if s.is_parsed and _is_bound_before(s.name, scope, node))
    return next((s for s in seeds if s.name.binding.node in body), None)


def _owners(scope: Scope) -> Iterator[Scope]:
    """A scope and those around it whose names can be read there, innermost first."""
    current: Scope | None = scope
    while current is not None:
        if current is scope or current.kind != "class":
            yield current
        current = current.parent


@remembered
def _seeds_of(owner: Scope, program: Program) -> list[list[OwnSeed]]:
    """Those that names of one scope hold, each bound once, to one number again and again, as in cells of a notebook, or
    to arguments that are changed step by step: for each name, in the order in which they are bound; but a constant that
    is the default of an option comes last."""
    groups = []
    for text, made in owner.bindings.items():
        names = [Name(text, binding, owner, program) for binding in made]
        if len(names) == 1 or (names[0].is_of_settings and _are_in_turn(names)) or _are_one_number(names):
            found = (next((s for source in SOURCES if (s := source(name)) is not None), None) for name in names)
            groups.append([seed for seed in found if seed is not None])
    defaults = {seed.option.default for seeds in groups for seed in seeds}
    return sorted(filter(None, groups), key=lambda seeds: seeds[0].read in defaults)


def _are_one_number(names: Sequence[Name]) -> bool:
    values = [n.binding.value for n in names if n.binding.kind == "assign" and is_seed(n.binding.value)]
    return len(values) == len(names) and len({ast.unparse(v) for v in values if v is not None}) == 1


def _are_in_turn(names: Sequence[Name]) -> bool:
    """Whether the statements that bind a name follow one another: `args = prepare(args)`."""
    body = getattr(names[0].owner.facts.parents.get(names[0].binding.node), "body", None)
    statements = set(body) if isinstance(body, list) else ()
    return all(n.binding.kind in ("assign", "unpack") and n.binding.node in statements for n in names)


def _held_at(scope: Scope, node: ast.AST, seeds: Sequence[OwnSeed]) -> Sequence[OwnSeed]:
    """Which of its seeds a name may hold at `node`: where it is bound several times, what it was bound to last."""
    owner, text = seeds[0].name.owner, seeds[0].name.text
    lines = _lines_of(text, owner)
    if len(lines) == 1:
        return seeds
    if scope.function is not owner:
        return ()
    before = bisect_left(lines, getattr(node, "lineno", 0))
    last = lines[before - 1] if before else 0
    return seeds[bisect_left(seeds, last, key=_line) : bisect_right(seeds, last, key=_line)]


@remembered_in_file
def _lines_of(name: str, owner: Scope) -> list[int]:
    """Where a name is bound, from the top."""
    return sorted(getattr(binding.node, "lineno", 0) for binding in owner.bindings[name])


def _line(seed: OwnSeed) -> int:
    return getattr(seed.name.binding.node, "lineno", 0)


def _is_bound_before(name: Name, scope: Scope, node: ast.AST) -> bool:
    """Whether the binding has run when `node` runs: it stands above it, unconditionally, in its own scope, or in the
    same function, which binds a global name."""
    binding, owner, guard = name.binding.node, name.owner, name.owner.facts.guard
    if name.is_parameter or not isinstance(binding, ast.stmt):
        return name.is_parameter
    outer = owner.facts.parents.get(binding)
    while isinstance(outer, ast.With):
        outer = owner.facts.parents.get(outer)
    if owner.kind == "module" and scope.function is not owner and outer is not scope.function.node:
        return outer is owner.node
    is_in_guard = owner.kind == "module" and guard is not None and outer is guard and is_in_body(binding, guard)
    is_plain = outer is owner.node or outer is scope.function.node or is_in_guard
    return is_plain and (binding.end_lineno or 0) < getattr(node, "lineno", 0)


# -- what seeders are given -----------------------------------------------------------------------------------------
def seeded_with(function: Scope, node: ast.AST, program: Program) -> str | None:
    """What a function seeds with before `node`, or what all that call it seed with before they do."""
    seed, line = _given_first(function, program) or (None, 0)
    if isinstance(seed, ast.Name) and function.binding_scope(seed.id) is function.facts.scope is not function:
        line = 0  # a constant of the module
    if seed is not None and line < getattr(node, "lineno", 0):
        return function.facts.text(seed)
    return _given_by_callers(function, MAX_CALLERS, program)


def _passed_seed(function: Scope, node: ast.AST, program: Program) -> str | None:
    """The parameter that a function seeds with before `node`: its callers may give it another number."""
    seed, line = _given_first(function, program) or (None, 0)
    is_above = isinstance(seed, ast.Name) and line < getattr(node, "lineno", 0)
    made = function.bindings.get(seed.id, ()) if is_above else ()  # type: ignore[union-attr]
    return seed.id if [b.kind for b in made] == ["parameter"] else None  # type: ignore[union-attr]


@remembered
def _given_by_callers(function: Scope, further: int, program: Program) -> str | None:
    """What all calls of a function come after a seeding with, as the function itself reads it."""
    calls = program.callers_of(function) if further and function.kind == "function" else None
    found = {_handed_on(call, function, further, program) for call in calls or ()}
    return found.pop() if len(found) == 1 else None


def _handed_on(call: CallSite, function: Scope, further: int, program: Program) -> str | None:
    """The seed of what calls a function, where that reaches the function: `config["seed"]` of a `config` that is passed
    to it, or of one that the whole file has."""
    node, caller = call[0], call[1].function
    seed, line = _given_first(caller, program) or (None, 0)
    if seed is None or line >= node.lineno:
        text = _given_by_callers(caller, further - 1, program) or ""
    else:
        text = caller.facts.text(seed) if ast.unparse(seed) not in stored_in(caller) else ""
    if text.isdecimal():
        return text
    return _read_in(function, text, call) or (_number(seed, caller, program) if text else None)


def _read_in(function: Scope, text: str, call: CallSite) -> str | None:
    """What stands as `text` where a function is called, as the function reads it: through a parameter that gets what
    holds it, or through what the whole file has. What only its main block binds, it reads where it does so anyway."""
    node, caller = call[0], call[1].function
    root = next(iter(re.findall(r"^[^\W\d]\w*", text)), "")
    for parameter in named_parameters(function):
        passed = argument_for(node, function, parameter)
        if isinstance(passed, ast.Name) and passed.id == root and len(function.bindings[parameter]) == 1:
            return parameter + text.removeprefix(root)
    facts = function.facts
    if {s.binding_scope(root) for s in (caller, function)} != {facts.scope}:
        return None
    is_of_guard = function is not caller and all(facts.in_guard(b.node) for b in facts.scope.bindings[root])
    return text if not is_of_guard or facts.reads(function.node).of_name(root) else None


def seed_read_in(scope: Scope, node: ast.AST, seed: Site, program: Program) -> str | None:
    """A seed that a call further on is given, as it can be written at `node`: in the same function, or in one that all
    its callers hand what holds the seed."""
    function, giver = scope.function, seed.scope.function
    named = (n for n in walk(seed.node) if isinstance(n, ast.Name))
    if seed.scope.facts is not scope.facts or not _is_repeatable(seed.node, giver, 0, program):
        return None
    text = giver.facts.text(seed.node)
    if ast.unparse(seed.node) in stored_in(giver):
        return None
    if function is giver:
        bound = [b for name in named for b in giver.bindings.get(name.id, ())]
        return text if all(b.kind == "parameter" or _is_above(b.node, node) for b in bound) else None
    calls = program.callers_of(function) if function.kind == "function" else None
    found = {_read_in(function, text, call) if call[1].function is giver else None for call in calls or ()}
    return found.pop() if len(found) == 1 else None


def _is_above(binding: ast.AST, node: ast.AST) -> bool:
    return getattr(binding, "lineno", 0) < getattr(node, "lineno", 0)


def _number(seed: ast.expr | None, scope: Scope, program: Program) -> str | None:
    """The one number of the code that a name holds: `seed = 0` further above."""
    match program.origins(seed, scope) if seed is not None else []:
        case [Constant(node=node, value=value) as made] if is_seed(node) and not is_configured(made):
            return str(value)
    return None


@remembered_in_file
def stored_in(function: Scope) -> frozenset[str]:
    """Where a function puts something into an attribute or under a key, as it is written."""
    nodes = (n for n in walk(function.node) if isinstance(n, ast.Attribute | ast.Subscript))
    return frozenset(ast.unparse(n) for n in nodes if isinstance(n.ctx, ast.Store))


def seeded_in_round(function: Scope, loop: LoopNode, node: ast.AST, program: Program) -> str | None:
    """What each round of a loop seeds with before `node`."""
    seed, line = _first_given(loop.body, function, program) or (None, 0)
    return function.facts.text(seed) if seed is not None and line < getattr(node, "lineno", 0) else None


@remembered
def _given_first(function: Scope, program: Program) -> tuple[ast.expr, int] | None:
    """The first number that a seeder is given that stands for itself in a function, or in a module and its guard."""
    body = getattr(function.node, "body", None)
    if function.facts.guard is not None and function.kind == "module":
        body = [*function.node.body, *function.facts.guard.body]  # type: ignore[attr-defined]
    return _first_given(body, function, program) if isinstance(body, list) else None


def _first_given(body: Sequence[ast.stmt], function: Scope, program: Program) -> tuple[ast.expr, int] | None:
    """The same in the statements of a body, first what seeds torch; and the last line on which it or a statement in
    front of it begins."""
    line, other = 0, None
    for statement in _in_turn(body):
        line = max(line, statement.lineno)
        match statement:
            case ast.Expr(value=ast.Call(args=[seed]) as call) if _is_repeatable(seed, function, line, program):
                if _takes_numbers_alone(call, function, program):
                    return seed, line
                if other is None and is_seed(seed) and _seeds(call, function, program):
                    other = seed, line
    return other


def _in_turn(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, and those of the context managers in it."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With):
            yield from _in_turn(statement.body)


def _seeds(call: ast.Call, scope: Scope, program: Program) -> bool:
    return is_seeder(program.callee(call, scope)) or _own_seeder(call, scope, program) is not None


def _takes_numbers_alone(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call seeds torch, which raises where it is given None, as a generator does: other seeders go on."""
    own = _own_seeder(call, scope, program)
    return program.callee(call, scope) in _STRICT or (
        own is not None and "torch" in own.families and not own.takes_none
    )


def _own_seeder(call: ast.Call, scope: Scope, program: Program) -> OwnSeeder | None:
    """The function of the project that seeds and does nothing else, if a call runs one."""
    called = program.resolve(call.func, scope)
    seeders = seeders_in(called.facts, program) if isinstance(called, Scope) else ()
    return next((seeder for seeder in seeders if seeder.function is called), None)


def _is_repeatable(seed: ast.expr, scope: Scope, line: int, program: Program) -> bool:
    """Whether a seed is a number, or made of names that hold one thing from a line on, attributes and entries."""
    match seed:
        case ast.Constant():
            return is_seed(seed)
        case ast.Name(id=name):
            made = scope.function.bindings.get(name, ())
            later = [b.value for b in made if getattr(b.node, "lineno", 0) > line]
            held = program.origins(seed, scope) if later else []
            is_one = len(made or scope.facts.scope.bindings.get(name, ())) == 1
            return is_one or (bool(made) and all(v and program.origins(v, scope) == held for v in later))
        case ast.Attribute(value=value) | ast.Subscript(value=value, slice=ast.Constant()):
            return _is_repeatable(value, scope, line, program)
    return False
