"""The fix of TRP101: seed every generator, once, before anything that may draw, where the program's own seed is known.

A program that seeds one generator already gets the missing ones beside that call. Any other seeds torch, Python and, if
it has numpy, numpy as well: what cannot be seen may draw from any of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.checks.own_seeder_call import own_seeder
from torchrepro_lint.checks.seed_doubts import Place, is_for_something_else, is_unclear, warns
from torchrepro_lint.checks.seed_option import negative_option, option_that_is_off, with_default
from torchrepro_lint.checks.worker_seeding import homes
from torchrepro_lint.dataflow.abstract_values import Constant, is_configured
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.rng.draws import draw_of
from torchrepro_lint.rng.own_seed import own_seed, parsed_above
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.seed_options import SEED_NAME, is_seed
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding.processes import RankSeed, in_pool, rank_seed, starts_processes
from torchrepro_lint.seeding.seeding import SEEDED
from torchrepro_lint.seeding.setting_up import Beginning, beginnings
from torchrepro_lint.seeding.unfollowed import uses_tensors
from torchrepro_lint.syntax import (
    Import,
    also_imported,
    below_header,
    import_from,
    import_module,
    indentation,
    insert_after,
    insert_at,
    insert_before,
    is_below_import,
    stands_apart,
    top_of_paragraph,
)

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.program import Program
    from torchrepro_lint.index import ModuleFacts, Scope
    from torchrepro_lint.model import Edit
    from torchrepro_lint.seeding.seeding import Seeding, SeedMet
    from torchrepro_lint.seeding.unseeded import Unseeded

SEED_CALLS = {"python": ("random", "seed"), "numpy": ("numpy", "random.seed"), "torch": ("torch", "manual_seed")}
_NAMES = frozenset(".".join(call) for call in SEED_CALLS.values())
_ELSEWHERE = frozenset({"ray"})  # its tasks and actors run in workers: docs.ray.io/en/latest/ray-core/walkthrough.html
_SEEDS = re.compile(r"seed|random|rng|reprod|determin|init|set_?up", re.IGNORECASE)


class SeedFix(NamedTuple):
    """The edits; `unsafe` where the value of the seed, or whether the program wants another, is not clear."""

    edits: tuple[Edit, ...]
    unsafe: bool = False


def seed_fix(program: Program, seeding: Seeding, found: Unseeded) -> SeedFix | None:
    """Seed the program, and each process that starts afresh; nothing where one of them is for a person to decide."""
    if _runs_elsewhere(seeding) or any(in_pool(witness, program) for witness in found.draws.values()):
        return None
    processes = dict.fromkeys(w.process for w in found.draws.values() if w.process is not None)
    made = [
        _switched_on(program, seeding, found, process) or _in_process(program, seeding, found, process)
        for process in processes
    ]
    if any(w.process is None for w in found.draws.values()) or not found.draws:
        made.append(
            _switched_on(program, seeding, found)
            or _beside(program, seeding, found)
            or _in_program(program, seeding, found)
        )
    known = [fix for fix in made if fix is not None]
    if len(known) < len(made) or not known:
        return None
    return SeedFix(tuple(dict.fromkeys(e for fix in known for e in fix.edits)), any(fix.unsafe for fix in known))


def _runs_elsewhere(seeding: Seeding) -> bool:
    """Whether the program hands work to processes that do not begin with its code, nor with its seeds."""
    return any(facts.packages & _ELSEWHERE for facts in seeding.visited)


# -- which generators -------------------------------------------------------------------------------------------------
def _families(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None) -> list[str]:
    """Those that are missing where the process seeds others; else all that it has."""
    missing = {f for f, w in found.draws.items() if w.process is process} or set(found.named)
    seeds = (m for m in seeding.met if m.level == SEEDED and m.process is process)
    if all(_may_be_left_out(program, m) for m in seeds):
        missing |= {"python"} | ({"torch"} if uses_tensors(seeding) else set())
        missing |= {"numpy"} if _has_numpy(program, seeding) else set()
    return [family for family in SEED_CALLS if family in missing]


def _has_numpy(program: Program, seeding: Seeding) -> bool:
    """Whether the program or a library that it uses imports numpy: a program may run where it is not installed."""
    with_it = catalogue.table("rng")["numpy"]["imported_by"]
    if any(not facts.packages.isdisjoint(with_it) for facts in seeding.visited):
        return True
    naming = program.project.text.mentioning("numpy")
    return bool(naming) and not program.project.reachable(seeding.entry.facts.source.path).isdisjoint(naming or ())


# -- where ----------------------------------------------------------------------------------------------------------
def _in_process(program: Program, seeding: Seeding, found: Unseeded, process: Scope) -> SeedFix | None:
    """At the top of what the processes run; not where it is called as well, by a process that may have seeded."""
    sites = program.callers_of(process) or ()
    if any(scope.facts.parents.get(site) is not None for site, scope in sites):
        return None
    families = _families(program, seeding, found, process)
    ranks = rank_seed(seeding, process, program, found.draws.values())
    works = list(_works(seeding, found, process, families))
    place = _place(beginnings(process, _body(process), works, program), program)
    return _seeded(program, seeding, found, place, families, ranks, process)


def _in_program(program: Program, seeding: Seeding, found: Unseeded) -> SeedFix | None:
    entry, facts = seeding.entry, seeding.entry.facts
    families = _families(program, seeding, found, None)
    works = list(_works(seeding, found, None, families))
    scope, body = (entry.function, _body(entry.function)) if entry.function else (facts.scope, facts.tree.body)
    levels = list(beginnings(scope, body, works, program))
    is_for_guard = entry.function is None and facts.guard is not None and _is_run_by_others(seeding, program)
    begun = [w.chain[0].node for w in found.draws.values() if w.process is None and w.chain]
    if is_for_guard and any(all(above is not facts.guard for above in facts.ancestors(node)) for node in begun):
        return None  # what others run too draws the same for them
    if facts.guard is not None and (is_for_guard or levels[0].statement is facts.guard):
        levels = list(beginnings(facts.scope, facts.guard.body, works, program))
        if levels[0].statement is None:
            levels = [Beginning(facts.scope, facts.guard.body, facts.guard.body[0])]
    ranks = rank_seed(seeding, None, program, found.draws.values())
    return _seeded(program, seeding, found, _place(levels, program), families, ranks, None)


def _is_run_by_others(seeding: Seeding, program: Program) -> bool:
    """Whether what stands outside the main guard is run by processes that start afresh, or by files that import it."""
    return starts_processes(seeding, program) or bool(program.project.users([seeding.entry.facts.source.path]))


def _body(function: Scope) -> Sequence[ast.stmt]:
    return getattr(function.node, "body", ())


def _works(seeding: Seeding, found: Unseeded, process: Scope | None, families: Collection[str]) -> Iterator[ast.AST]:
    """Calls and imports before which the seeds of `families` must stand: those that lead to a draw, or to a seed of one
    of them that counts only sometimes, which is then the user's choice."""
    for witness in found.draws.values():
        if witness.process is process:
            yield from (step.node for step in witness.chain)
    for met in seeding.met:
        if met.process is process and (met.seeder is None or not set(families).isdisjoint(met.seeder.families)):
            yield from (*(step.node for step in met.chain), met.node)


def _place(levels: Collection[Beginning] | Iterator[Beginning], program: Program) -> Place | None:
    """The outermost place where the program's own seed is known, else the outermost of all programs that share it."""
    outermost: Place | None = None
    for scope, body, statement, is_shared in levels:
        if statement is None:
            break
        own = own_seed(scope, statement, program) or parsed_above(scope, statement, body, program)
        if own is not None:
            made = own.name.binding.node
            if own.is_parsed and isinstance(made, ast.stmt) and made in body:
                return Place(scope, made, is_after=True, own=own)
            return Place(scope, top_of_paragraph(scope.facts, body, statement, made), is_after=False, own=own)
        if outermost is None or is_shared:
            outermost = Place(scope, top_of_paragraph(scope.facts, body, statement), is_after=False)
    return outermost


def _seeded(
    program: Program,
    seeding: Seeding,
    found: Unseeded,
    place: Place | None,
    families: Sequence[str],
    ranks: RankSeed | None,
    process: Scope | None,
) -> SeedFix | None:
    """The seed calls, with the imports that they need."""
    if place is None or ranks is None:
        return None
    scope, statement, own = place.scope, place.statement, place.own
    if ranks.variable and scope.binding_scope(ranks.added) is not None:
        return None
    facts = scope.facts
    known = own.text if own is not None else _number_elsewhere(program, seeding, found)
    imported = _imported_seed(scope, statement, program) if known is None else None
    seed, switched = known or (imported.text if imported is not None else str(usual_seed(facts, program))), None
    if own is not None and own.option.off == "negative":
        switched = negative_option(seeding, own.option.name)
        seed = own.read if switched is not None else seed
    is_free = known is None and imported is None and not ranks.added
    lines, edits = _by_own_seeder(program, seeding, place, families, ranks.of(seed), is_free=is_free) or _calls(
        facts, scope, statement, families, ranks.of(seed)
    )
    if ranks.variable:
        os = import_module(facts, "os", scope, statement)
        lines, edits = (
            [f'{ranks.added} = int({os.text}.environ.get("{ranks.variable}", 0))', *lines],
            (*os.edits, *edits),
        )
    edits = (*edits, *(imported.edits if imported is not None else ()))
    if switched is not None:  # who gives a negative number still gets other numbers each time
        lines = [f"if {seed} >= 0:", *(indentation(facts) + line for line in lines)]
        edits = (*edits, *with_default(switched, str(usual_seed(switched.facts, program)), program))
    is_renamed = any(line.lstrip().startswith("_") for line in lines)  # the module's name has another use
    is_doubtful = is_renamed or is_unclear(seeding, process, families, place, program)
    return SeedFix((*edits, _inserted(place, lines)), is_doubtful)


def _inserted(place: Place, lines: Sequence[str]) -> Edit:
    scope, statement, is_after, own = place
    facts = scope.facts
    if is_after:
        return insert_after(facts, statement, *lines)
    if own is None and (line := below_header(facts, statement)) is not None:
        return insert_at(facts, line, statement, *lines, "")
    below_import = is_below_import(facts, statement)
    apart = below_import or stands_apart(facts, statement)
    return insert_before(facts, statement, *[""] * below_import, *lines, *[""] * apart)


def _number_elsewhere(program: Program, seeding: Seeding, found: Unseeded) -> str | None:
    """The one number that the code of a program seeds with further on, or under a test."""
    general = [m for m in seeding.met if not _is_for_own_draws(program, seeding, found, m.scope.function)]
    given = [(m.seeder.seed, m.scope) for m in general if m.seeder is not None and m.seeder.seed is not None]
    made = [o for seed, scope in given for o in program.origins(seed, scope)]
    numbers = {o.value for o in made if isinstance(o, Constant) and is_seed(o.node) and not is_configured(o)}
    return str(numbers.pop()) if len(numbers) == 1 else None


def _imported_seed(scope: Scope, at: ast.stmt, program: Program) -> Import | None:
    """The seed that a module of the project names, from which the file imports other names."""
    for node, home in homes(scope.facts, program) if not scope.facts.source.cells else ():
        for name, made in home.scope.bindings.items():
            is_constant = len(made) == 1 and is_seed(made[0].value) and home.parents.get(made[0].node) is home.tree
            if is_constant and SEED_NAME.fullmatch(name) and _is_free(name, scope) and node.lineno < at.lineno:
                return Import(name, (also_imported(scope.facts, node, name),))
    return None


def _calls(
    facts: ModuleFacts, scope: Scope, at: ast.stmt, families: Sequence[str], seed: str
) -> tuple[list[str], tuple[Edit, ...]]:
    whole = _at_once(facts, scope, at) if {"python", "torch"} <= set(families) else None
    if whole is not None:
        return [f"{whole.text}({seed})"], whole.edits
    modules = {family: import_module(facts, SEED_CALLS[family][0], scope, at) for family in families}
    name = "seed" if len(families) > 1 and _is_long(seed) and _is_free("seed", scope) else seed
    lines = [f"{modules[family].text}.{SEED_CALLS[family][1]}({name})" for family in families]
    return [f"seed = {seed}"] * (name != seed) + lines, tuple(e for made in modules.values() for e in made.edits)


def _is_long(seed: str) -> bool:
    """Whether a seed is more than a name, an attribute, an entry or a sum of such; that is written once."""
    return "(" in seed or " or " in seed or " if " in seed


def _is_free(name: str, scope: Scope) -> bool:
    """Whether nothing that `scope` or its module binds has a name, and nothing in the file reads it."""
    return scope.binding_scope(name) is None and not scope.facts.reads(scope.facts.tree).of_name(name)


def _by_own_seeder(
    program: Program, seeding: Seeding, place: Place, families: Sequence[str], seed: str, *, is_free: bool
) -> tuple[list[str], tuple[Edit, ...]] | None:
    """A call of the project's own function that seeds all of these; with its default, where the seed `is_free`."""
    scope, at = place.scope, place.statement
    if len(families) < 2 or _at_once(scope.facts, scope, at) is not None:
        return None
    packages = {package for facts in seeding.visited for package in facts.packages}
    name, seeder = own_seeder(program, scope, at, families, packages) or (None, None)
    if name is None or seeder is None:
        return None
    return [f"{name.text}({'' if is_free and seeder.has_default else seed})"], name.edits


def _at_once(facts: ModuleFacts, scope: Scope, at: ast.stmt) -> Import | None:
    """What seeds all generators at once, of a package that the file imports anyway: Lightning's `seed_everything`."""
    always = [b.target for b in facts.imports if facts.parents.get(b.node) is facts.tree and not b.level]
    for package, name in sorted(catalogue.table("rng")["at_once"].items(), reverse=True):
        if any(target == package or target.startswith(f"{package}.") for target in always):
            module, _, function = name.rpartition(".")
            return import_from(facts, module, function, scope, at)
    return None


# -- by default -----------------------------------------------------------------------------------------------------
def _switched_on(program: Program, seeding: Seeding, found: Unseeded, process: Scope | None = None) -> SeedFix | None:
    """The default of the option without which the program, or what a process runs, does not seed, with the seeds that
    are missing there."""
    first = min((w.number for w in found.draws.values() if w.process is process), default=0)
    met = [m for m in seeding.met if m.process is process and m.seeder is not None and m.number <= first]
    for last in reversed(met):
        option = option_that_is_off(seeding, last)
        if option is None or times(program, last.scope) == "often":
            continue
        together = [m for m in met if m.scope is last.scope and m.seeder is not None]
        done = {family for m in together if m.seeder is not None for family in m.seeder.families}
        missing = [f for f in _families(program, seeding, found, process) if f not in done]
        added = _below(program, last, missing)
        is_enough = bool(added) or not missing or done.issuperset(found.draws)
        number = str(usual_seed(option.facts, program) or int(_wants_more_than_none(last)))
        edits = (*with_default(option, number, program), *added)
        return SeedFix(edits, warns(last) or is_for_something_else(last, program)) if is_enough else None
    return None


def _wants_more_than_none(met: SeedMet) -> bool:
    """Whether a test before a call that seeds, or one that leads to it, takes 0 for no seed: `if args.seed > 0:`,
    `if args.seed:`."""
    sites = ((met.node, met.scope), *((step.node, step.scope) for step in met.chain))
    tests = (c.test for node, scope in sites for c in conditions(node, scope) if c.holds)
    return any(isinstance(t, ast.Name | ast.Attribute | ast.Subscript) or _is_positive(t) for t in tests)


def _is_positive(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return True
    return False


# -- beside another seed --------------------------------------------------------------------------------------------
def _beside(program: Program, seeding: Seeding, found: Unseeded) -> SeedFix | None:
    """Below a call that seeds another generator in any case, before all draws, with the seed that it is given."""
    first = min((w.number for w in found.draws.values() if w.process is None), default=0)
    for met in seeding.met:
        function = met.scope.function
        is_near = met.scope.facts is seeding.entry.facts or _SEEDS.search(function.name) or _leads(function, found)
        is_sure = met.process is None and met.sure and met.level == SEEDED and met.number < first
        is_sure = is_sure and not _may_be_left_out(program, met)
        if is_sure and is_near and not _is_for_own_draws(program, seeding, found, function):
            edits = _below(program, met, _families(program, seeding, found, None))
            if edits and times(program, met.scope) != "often":
                return SeedFix(edits, is_for_something_else(met, program))
    return None


def _may_be_left_out(program: Program, met: SeedMet) -> bool:
    """Whether the function of a seed may return before it, whatever the seed: only under a launcher does it go on."""
    return any(
        isinstance(c.owner, ast.If)
        and not about_seed(c.test)
        and any(isinstance(n, ast.Return) for n in ast.walk(c.owner))
        and outcome(c.test, met.scope, program) is Truth.UNKNOWN
        for c in conditions(met.node, met.scope)
    )


def _below(program: Program, met: SeedMet, families: Sequence[str]) -> tuple[Edit, ...]:
    """Seeds of other generators below a call that seeds, where what it is given can be worked out again."""
    facts = met.scope.facts
    statement, seed = _last_of_seeds(facts, facts.statement(met.node)), _copied_seed(program, met)
    if seed is None or not families:
        return ()
    lines, edits = _calls(facts, met.scope, statement, families, seed)
    return (*edits, insert_after(facts, statement, *lines))


def _is_for_own_draws(program: Program, seeding: Seeding, found: Unseeded, function: Scope) -> bool:
    """Whether a function that is neither the program's nor on the way to what is missing draws itself: that it seeds
    one generator is about these draws."""
    if function.kind == "module" or function is seeding.entry.function:
        return False
    if _leads(function, found):
        return False
    calls = ((n, function.facts.scope_of(n)) for n in ast.walk(function.node) if isinstance(n, ast.Call))
    return any(draw_of(program, program.callee(call, scope), call, scope) is not None for call, scope in calls)


def _leads(function: Scope, found: Unseeded) -> bool:
    """Whether a function is on the way to what is missing."""
    return any(step.scope.function is function for witness in found.draws.values() for step in witness.chain)


def _copied_seed(program: Program, met: SeedMet) -> str | None:
    """The seed of a call that is a statement by itself, where it gives the same number when it is worked out again."""
    seed = met.seeder.seed if met.seeder is not None else None
    if seed is None or program.callee(met.node, met.scope) not in _NAMES:
        return None
    facts = met.scope.facts
    is_alone = isinstance(facts.parents.get(met.node), ast.Expr) and met.scope.kind in ("module", "function")
    is_number = not isinstance(seed, ast.Constant) or is_seed(seed)
    is_pure = not any(isinstance(n, ast.Call | ast.NamedExpr | ast.Await) for n in ast.walk(seed))
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
