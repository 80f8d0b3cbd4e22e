"""The fixes of TRP101 at a call that seeds: seeds of other generators below one that does in any case, with the seed
that it is given; or another default for the option, or the variable of the environment, that decides whether it does,
where by default it does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint.checks import seed_calls, seed_families
from torchrepro_lint.checks.draft import Fix
from torchrepro_lint.checks.seed_doubts import is_for_something_else, is_of_torch, repeats_names, warns
from torchrepro_lint.checks.seeded_learner import seeded_learner
from torchrepro_lint.dataflow import Program, Site
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.index import ModuleFacts, Scope, arguments_of, calls_in, keyword_value, last_name, walk
from torchrepro_lint.model import Edit
from torchrepro_lint.project.declarations import (
    attribute_of,
    constant,
    declarations,
    declared_options,
    flags_of,
    takes_integers,
)
from torchrepro_lint.rng import environments
from torchrepro_lint.rng.seed_options import is_seed
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding.seeding import SEEDED, UNSEEDED, Seeding, SeedMet
from torchrepro_lint.seeding.unseeded import Unseeded
from torchrepro_lint.syntax import insert_after, quoted, replace, with_argument

_OF_GPUS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
_READS_ENVIRONMENT = frozenset({"os.environ.get", "os.getenv"})
_CONVERTS = frozenset({"int", "float", "abs"})
_NAMES = frozenset(".".join(call) for call in seed_families.SEED_CALLS.values())
_SEEDS = re.compile(r"seed|random|rng|reprod|determin|init|set_?up", re.IGNORECASE)
_PROMISED = re.compile(r"\bdefault(?:s to|:|=| is)?\s*(\d+)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"\b(?:set|pass|give|specify|use) (?:it|this)\b|\bnon-?determin|\bNone\s*(?:=|[-=]>|→|means?\b)"
    r"|\b(?:leave (?:it |this )?(?:out|away)|omit)\b"
    r"|\b(?:if|when|unless) (?:not |un)?(?:set|given|passed|provided|specified)\b"
    r"|\b(?:for|of) (?:\w+ ){0,3}(?:selection|sampling|shuffling|splits?|splitting)\b",
    re.IGNORECASE,
)
_OFF = re.compile(
    r"(?:^|[\s(\"'])(?:-1|0|None) ?(?:=|:|[-=]>|→|for|means?\b|gives?\b) ?(?:an? )?(?:random|different|new|no seed)",
    re.IGNORECASE,
)
_TOLD = re.compile(r"(\bdefault(?:s to|:|=| is)?\s*)(?:-1|None)\b", re.IGNORECASE)


def beside(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    """Below a call that seeds another generator in any case, before all draws, with the seed that it is given."""
    first = min((w.number for w in found.draws.values() if w.process is None), default=0)
    for met in seeding.met:
        function = met.scope.function
        is_near = (
            met.scope.facts is seeding.entry.facts
            or (function.own_name != "__init__" and _SEEDS.search(function.name))
            or seed_calls.leads(function, found)
        )
        is_sure = met.process is None and met.sure and met.level == SEEDED and met.number < first
        is_sure = is_sure and not seed_families.may_be_left_out(program, met)
        if is_sure and is_near and not seed_calls.is_for_own_draws(program, seeding, found, function):
            families = seed_families.families_of(program, seeding, found, None)
            edits = seeds_below(program, met, families)
            if edits and times(program, met.scope) != "often":
                is_doubtful = is_for_something_else(met, program) or _is_renamed(edits) or _is_undone(met, seeding)
                is_doubtful = is_doubtful or repeats_names(seeding, families, met.scope, met.node, program)
                return Fix(edits, is_doubtful or _is_seeded_again(met, seeding, found, first))
    return None


def of_learner(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    """The seed of the first thing that learns, where nothing is drawn before it: an agent that is made without one."""
    first = min((w.number for w in found.draws.values() if w.process is None), default=-1)
    for met in seeding.met:
        learner = environments.learner(Site(met.node, met.scope), program)
        if learner is not None and met.process is None and met.sure and met.level == UNSEEDED and met.number <= first:
            fix = seeded_learner(learner, program)
            return fix if fix.edits else None
    return None


def on_all_devices(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    """One call in the place of two of which the first seeds the GPUs only, which `torch.manual_seed` seeds as well:
    `if cuda: torch.cuda.manual_seed(seed)`, `else: torch.manual_seed(seed)`."""
    first = min((w.number for w in found.draws.values() if w.process is None), default=0)
    for met in seeding.met:
        facts = met.scope.facts
        match facts.parents.get(facts.statement(met.node)):
            case ast.If(body=[ast.Expr(value=ast.Call() as other)], orelse=[ast.Expr(value=call)]) as both:
                if call is not met.node or met.process is not None or met.number > first:
                    continue
            case _:
                continue
        seed, told = _copied_seed(program, met), facts.text(both)
        is_same = program.callee(other, met.scope) in _OF_GPUS and [*map(ast.unparse, other.args)] == [seed]
        tests = (c.test for c in met.conditions if c.owner is not both)
        if not is_same or "#" in told or any("__name__" not in ast.unparse(test) for test in tests):
            continue
        families = [f for f in seed_families.families_of(program, seeding, found, None) if f != "torch"]
        lines, edits = seed_calls.seed_calls(met.scope, both, families, str(seed))
        between = facts.source.newline + " " * both.col_offset
        edits = (*edits, replace(facts, both, between.join([facts.text(met.node), *lines])))
        is_doubtful = is_for_something_else(met, program) or _is_renamed(edits)
        return Fix(edits, is_doubtful) if times(program, met.scope) != "often" else None
    return None


def _is_seeded_again(met: SeedMet, seeding: Seeding, found: Unseeded, first: int) -> bool:
    """Whether a function on the way to what is missing seeds as well, later, as each process of several does."""
    return any(
        m.scope is not met.scope and met.number < m.number < first and seed_calls.leads(m.scope.function, found)
        for m in seeding.met
    )


def _is_undone(met: SeedMet, seeding: Seeding) -> bool:
    """Whether the generator is given a new seed below: `np.random.seed(1)`, `np.random.seed()`."""
    function = ast.unparse(met.node.func)
    return any(
        scope is met.scope and call.lineno > met.node.lineno and not (call.args or call.keywords)
        for call, scope in seeding.calls(last_name(met.node.func))
        if ast.unparse(call.func) == function
    )


def _is_renamed(edits: Sequence[Edit]) -> bool:
    """Whether a module is imported by another name, as its own has another use."""
    return any(" as _" in edit.text for edit in edits)


def seeds_below(program: Program, met: SeedMet, families: Sequence[str]) -> tuple[Edit, ...]:
    """Seeds of other generators below a call that seeds, where what it is given can be worked out again."""
    facts = met.scope.facts
    statement, seed = _last_of_seeds(facts, facts.statement(met.node)), _copied_seed(program, met)
    if seed is None or not families or ("numpy" in families and _is_too_large(program, met)):
        return ()
    statement = _last_of_imports(facts, statement, families)
    lines, edits = seed_calls.seed_calls(met.scope, statement, families, seed)
    is_apart = isinstance(statement, ast.Import | ast.ImportFrom)
    return (*edits, insert_after(facts, statement, *[""] * is_apart, *lines))


def _is_too_large(program: Program, met: SeedMet) -> bool:
    """Whether numpy refuses the number that another generator is seeded with: it takes 32 bits."""
    seed = met.seeder.seed if met.seeder is not None else None
    value = program.literal(seed, met.scope) if seed is not None else None
    return isinstance(value, int) and not 0 <= value < 2**32


def _copied_seed(program: Program, met: SeedMet) -> str | None:
    """The seed of a call that is a statement by itself, where it gives the same number when it is worked out again."""
    seed = met.seeder.seed if met.seeder is not None else None
    if seed is None or program.callee(met.node, met.scope) not in _NAMES:
        return None
    facts = met.scope.facts
    is_alone = isinstance(facts.parents.get(met.node), ast.Expr) and met.scope.kind in ("module", "function")
    is_number = not isinstance(seed, ast.Constant) or is_seed(seed)
    is_pure = not any(isinstance(n, ast.Call | ast.NamedExpr | ast.Await) for n in walk(seed))
    is_pure = is_pure and not is_of_torch(met)
    return facts.text(seed) if is_alone and is_number and is_pure else None


def _last_of_seeds(facts: ModuleFacts, statement: ast.stmt) -> ast.stmt:
    """The last of the calls that seed in a row."""
    block: list[ast.stmt] = getattr(facts.parents[statement], "body", [])
    following = block[block.index(statement) + 1 :] if statement in block else []
    for other in following:
        match other:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))) if "seed" in name:
                statement = other
            case _:
                break
    return statement


def _last_of_imports(facts: ModuleFacts, statement: ast.stmt, families: Sequence[str]) -> ast.stmt:
    """The last of the imports that follow right after a statement of the module, where they import a generator's module
    that is to be seeded; else the statement."""
    block = facts.tree.body if statement in facts.tree.body else []
    following = block[block.index(statement) + 1 :] if block else []
    imports = list(takewhile(lambda s: isinstance(s, ast.Import | ast.ImportFrom), following))
    wanted = {seed_families.SEED_CALLS[family][0] for family in families}
    is_there = any(b.node in imports and b.target in wanted for b in facts.imports)
    return imports[-1] if is_there else statement


# -- options ----------------------------------------------------------------------------------------------------------
class Declaration(NamedTuple):
    """The call that declares an option, and its file."""

    call: ast.Call
    facts: ModuleFacts


def option_that_is_off(seeding: Seeding, met: SeedMet) -> Declaration | None:
    """The option that gives a call its seed, directly or through the calls that lead to it, where by default it is None
    or negative, and no test but those of a seed decides whether the program comes by."""
    if not _is_left_to_seed(met):
        return None
    calls = [step.node for step in met.way if isinstance(step.node, ast.Call)]
    passed = [value for call in calls for value in arguments_of(call)]
    named = {last_name(a) for a in passed if isinstance(a, ast.Attribute | ast.Name)}
    names = {name for name in named if "seed" in name.lower()}
    declared = [d for name in sorted(names) for facts in seeding.visited for d in _off_by_default(name, facts)]
    return declared[0] if len(declared) == 1 else None


def negative_option(seeding: Seeding, name: str) -> Declaration | None:
    """The one declaration of an option of a program that is a negative number by default."""
    found = [
        Declaration(call, facts)
        for facts in seeding.visited
        for call, _ in declarations(name, facts)
        if any(k.arg == "default" and _is_negative(constant(k.value)) for k in call.keywords)
    ]
    return found[0] if len(found) == 1 else None


def _is_negative(value: object) -> bool:
    return type(value) is int and value < 0


def with_default(option: Declaration, value: str, program: Program) -> tuple[Edit, ...]:
    """Give an option another default, which its help may tell."""
    call, facts = option
    edits = [with_argument(facts, call, "default", value, program.project.style)]
    told = keyword_value(call, "help")
    if isinstance(told, ast.Constant):
        text = facts.text(told)
        new = _TOLD.sub(rf"\g<1>{value}", text)
        edits += [replace(facts, told, new)] if new != text else []
    return tuple(edits)


def _promised(option: Declaration) -> int | None:
    """The number that the help of an option already tells as its default."""
    told = keyword_value(option.call, "help")
    found = _PROMISED.search(option.facts.text(told)) if isinstance(told, ast.Constant) else None
    return int(found[1]) if found is not None else None


def is_said_to_differ(name: str, seeding: Seeding) -> bool:
    """Whether the help of an option says that a value of it gives other numbers each time: "0 for a random seed"."""
    told = (keyword_value(c, "help") for facts in seeding.visited for c, _ in declarations(name, facts))
    return any(isinstance(t, ast.Constant) and isinstance(t.value, str) and _OFF.search(t.value) for t in told)


def _is_asked_for(option: Declaration) -> bool:
    """Whether the help of an option says what giving it does, or what a run without it is like: by default the author
    does not want that. Or that it is for one thing alone."""
    told = keyword_value(option.call, "help")
    return isinstance(told, ast.Constant) and _ASKED.search(option.facts.text(told)) is not None


def _off_by_default(name: str, facts: ModuleFacts) -> list[Declaration]:
    option = declared_options(facts).get(name)
    if option is None or not (option.value is None or _is_negative(option.value)):
        return []
    return [Declaration(call, facts) for call in takes_integers(name, facts)]


def switched_on(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None = None) -> Fix | None:
    """The default of the option without which the program, or what a process runs, does not seed, with the seeds that
    are missing there."""
    first = min((w.number for w in found.draws.values() if w.process is process), default=0)
    met = [m for m in seeding.met if m.process is process and m.seeder is not None and m.number <= first]
    for last in reversed(met):
        option = option_that_is_off(seeding, last)
        if option is None or _is_drawn(option, seeding) or times(program, last.scope) == "often":
            continue
        together = [m for m in met if m.scope is last.scope and m.seeder is not None]
        done = {family for m in together if m.seeder is not None for family in m.seeder.families}
        missing = [f for f in seed_families.families_of(program, seeding, found, process) if f not in done]
        added = seeds_below(program, last, missing)
        is_enough = bool(added) or not missing or done.issuperset(found.draws)
        promised = _promised(option)
        usual = usual_seed(option.facts, program) if promised is None else promised
        number = str(usual or int(_wants_more_than_none(last)))
        edits = (*with_default(option, number, program), *added)
        is_doubtful = warns(last) or is_for_something_else(last, program) or _is_of_commands(option, program)
        is_doubtful = is_doubtful or repeats_names(seeding, {*done, *missing}, last.scope, last.node, program)
        return Fix(edits, is_doubtful or _is_asked_for(option)) if is_enough else None
    return None


def from_environment(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    """A default for the variable of the environment without which the program does not seed, with the seeds that are
    missing there. What it should do without one is for its author to say."""
    first = min((w.number for w in found.draws.values() if w.process is None), default=0)
    for met in seeding.met:
        if met.process is not None or met.seeder is None or met.sure or met.number > first:
            continue
        read = _read_from_environment(met, program)
        if read is None or not _is_left_to_seed(met):
            continue
        (name,), facts = read.args, met.scope.facts
        number = quoted(facts, str(usual_seed(facts, program)), program.project.style)
        families = seed_families.families_of(program, seeding, found, None)
        missing = [family for family in families if family not in met.seeder.families]
        edits = (replace(facts, name, f"{facts.text(name)}, {number}"), *seeds_below(program, met, missing))
        return Fix(edits, unsafe=True)
    return None


def _read_from_environment(met: SeedMet, program: Program) -> ast.Call | None:
    """The call that reads what a name in the seed of `met` holds: `os.environ.get("SEED")`."""
    names = walk(met.seeder.seed) if met.seeder is not None and met.seeder.seed is not None else ()
    made = [met.scope.bindings_of(name) for name in names if isinstance(name, ast.Name)]
    values = [bound[0].value for bound in made if len(bound) == 1 and bound[0].value is not None]
    read = (call for call in calls_in(*values) if program.callee(call, met.scope) in _READS_ENVIRONMENT)
    return next((call for call in read if len(call.args) == 1 and not call.keywords), None)


def _is_left_to_seed(met: SeedMet) -> bool:
    """Whether no test but those of a seed decides whether the program comes by."""
    tests = (ast.unparse(condition.test).lower() for condition in met.conditions)
    return all("seed" in test or "__name__" in test for test in tests)


def _is_drawn(option: Declaration, seeding: Seeding) -> bool:
    """Whether the program gives an option another value itself: `if args.seed is None: args.seed = randint(0, 999)`."""
    names = {attribute_of(flag) for flag in flags_of(option.call)}
    sets = (made for facts in seeding.visited for name in sorted(names) for made in facts.attribute_sets.get(name, ()))
    return any(last_name(call.func) not in _CONVERTS for made in sets if made.value for call in calls_in(made.value))


def _is_of_commands(option: Declaration, program: Program) -> bool:
    """Whether the project installs commands that take an option: what it is by default, their users are told."""
    commands = map(Path, program.project.console_scripts)
    return any(option.facts.source.path in {path, *program.project.reachable(path)} for path in commands)


def _wants_more_than_none(met: SeedMet) -> bool:
    """Whether a test before a call that seeds, or one that leads to it, takes 0 for no seed: `if args.seed > 0:`,
    `if args.seed:`."""
    tests = (condition.test for condition in met.conditions if condition.holds)
    return any(isinstance(t, ast.Name | ast.Attribute | ast.Subscript) or _is_positive(t) for t in tests)


def _is_positive(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return True
    return False
