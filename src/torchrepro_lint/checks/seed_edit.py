"""The fix of TRP101: seed every generator, once, before anything that may draw, where the program's own seed is known.

A program that seeds one generator already gets the missing ones beside that call. Where it
seeds is asked of `seed_place`, which generators and with what number of `seed_calls`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from torchrepro_lint.checks.draft import Fix, made
from torchrepro_lint.checks.said_on_purpose import are_runs_to_differ
from torchrepro_lint.checks.seed_calls import by_own_seeder, has_idle_seeder, number_at, seed_calls
from torchrepro_lint.checks.seed_doubts import is_unclear
from torchrepro_lint.checks.seed_families import families_of, is_fresh
from torchrepro_lint.checks.seed_met import (
    Declaration,
    beside,
    from_environment,
    is_said_to_differ,
    negative_option,
    of_learner,
    on_all_devices,
    switched_on,
    with_default,
)
from torchrepro_lint.checks.seed_place import Place, inserted, place_of, ranked_place, works_of
from torchrepro_lint.dataflow import Program
from torchrepro_lint.index import Scope, calls_in
from torchrepro_lint.model import Edit
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding import cells
from torchrepro_lint.seeding.processes import (
    RankSeed,
    in_forked,
    in_launched,
    in_pool,
    is_spawned_for_each_run,
    rank_seed,
    starts_processes,
)
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.setting_up import Beginning, beginnings
from torchrepro_lint.seeding.unseeded import Unseeded
from torchrepro_lint.syntax import import_module, indentation

_ELSEWHERE = frozenset({"ray"})  # its tasks and actors run in workers: docs.ray.io/en/latest/ray-core/walkthrough.html

_OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "LBFGS", "Adagrad")


def seed_fix(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    """Seed the program, and each process that starts afresh; nothing where one of them is for a person to decide."""
    if _runs_elsewhere(seeding) or any(in_pool(witness, program) for witness in found.draws.values()):
        return None
    processes = dict.fromkeys(w.process for w in found.draws.values() if w.process is not None)
    fixes = [
        switched_on(program, seeding, found, process) or _in_process(program, seeding, found, process)
        for process in processes
    ]
    if any(w.process is None for w in found.draws.values()) or not found.draws:
        fixes.append(
            switched_on(program, seeding, found)
            or of_learner(program, seeding, found)
            or on_all_devices(program, seeding, found)
            or beside(program, seeding, found)
            or from_environment(program, seeding, found)
            or _in_program(program, seeding, found)
        )
    known = [fix for fix in fixes if fix is not None]
    if len(known) < len(fixes) or not known:
        return None
    may_be_elsewhere = not found.draws and (starts_processes(seeding, program) or _fits_no_model(seeding, program))
    witnesses = found.draws.values()
    may_be_elsewhere = may_be_elsewhere or any(in_launched(w, program) or in_forked(w) for w in witnesses)
    may_be_elsewhere = may_be_elsewhere or are_runs_to_differ(seeding.entry.facts)
    edits = tuple(dict.fromkeys(e for fix in known for e in made(fix.edits)))
    return Fix(edits, may_be_elsewhere or any(fix.unsafe for fix in known))


def _runs_elsewhere(seeding: Seeding) -> bool:
    """Whether the program hands work to processes that do not begin with its code, nor with its seeds."""
    return any(facts.packages & _ELSEWHERE for facts in seeding.visited)


def _fits_no_model(seeding: Seeding, program: Program) -> bool:
    """Whether all that a program optimizes is tensors that it lists, and no model, whose weights would be drawn."""
    optimizers = (site for name in _OPTIMIZERS for site in seeding.calls(name))
    given = [call.args[0] for call, scope in optimizers if call.args and _is_optimizer(call, scope, program)]
    return bool(given) and all(isinstance(value, ast.List) and not any(calls_in(value)) for value in given)


def _is_optimizer(call: ast.Call, scope: Scope, program: Program) -> bool:
    return (program.callee(call, scope) or "").startswith("torch.optim.")


def _in_process(program: Program, seeding: Seeding, found: Unseeded, process: Scope) -> Fix | None:
    """At the top of what the processes run; not where it is called as well, by a process that may have seeded."""
    sites = program.callers_of(process) or ()
    if any(scope.facts.parents.get(site) is not None for site, scope in sites):
        return None
    families = families_of(program, seeding, found, process)
    ranks = rank_seed(seeding, process, program, found.draws.values())
    works = list(works_of(seeding, found, process, families))
    place = place_of(beginnings(process, _body(process), works, program), program)
    fix = _seeded(program, seeding, found, place, families, ranks, process)
    is_each_run = fix is not None and is_spawned_for_each_run(seeding, process, program)
    return fix._replace(unsafe=fix.unsafe or is_each_run) if fix is not None else None


def _in_program(program: Program, seeding: Seeding, found: Unseeded) -> Fix | None:
    entry, facts = seeding.entry, seeding.entry.facts
    if entry.command:
        return None  # an object that others import too, and each of its commands begins by itself
    families = families_of(program, seeding, found, None)
    works = list(works_of(seeding, found, None, families))
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
    if facts.source.cells and levels[0].body is facts.tree.body:
        levels = _for_training(levels, works, program)
    ranks = rank_seed(seeding, None, program, found.draws.values())
    place = place_of(levels, program)
    at_hand = ranked_place(levels, works) if ranks is not None and ranks.variable else None
    if at_hand is not None and place is not None and place.own is None:
        place, ranks = at_hand[0], RankSeed(at_hand[1])
    return _seeded(program, seeding, found, place, families, ranks, None)


def _for_training(levels: list[Beginning], works: Collection[ast.AST], program: Program) -> list[Beginning]:
    """Where the work begins in the first cell of a notebook that leads to its training, below those that draw only to
    show something; where it begins at all if there is none, or one of these may change what is trained with."""
    found, scope, facts = levels, levels[0].scope, levels[0].scope.facts
    while (statement := found[0].statement) is not None:
        if cells.is_for_training(statement, facts, program):
            body = levels[0].body
            skipped = body[body.index(levels[0].statement) : body.index(statement)]
            return levels if cells.may_change_trained(skipped, facts, program) else found
        found = list(beginnings(scope, cells.below(statement, facts), works, program))
    return levels


def _is_run_by_others(seeding: Seeding, program: Program) -> bool:
    """Whether what stands outside the main guard is run by processes that start afresh, or by files that import it."""
    return starts_processes(seeding, program) or bool(program.project.users([seeding.entry.facts.source.path]))


def _body(function: Scope) -> Sequence[ast.stmt]:
    return getattr(function.node, "body", ())


def _seeded(
    program: Program,
    seeding: Seeding,
    found: Unseeded,
    place: Place | None,
    families: Sequence[str],
    ranks: RankSeed | None,
    process: Scope | None,
) -> Fix | None:
    """The seed calls at a place, with the imports that they need."""
    if place is None or ranks is None or (ranks.variable and place.scope.binding_scope(ranks.added) is not None):
        return None
    switched = _negative_option(seeding, place)
    option = place.own.option if place.own is not None else None
    is_wanted = option is not None and is_said_to_differ(option.name, seeding)
    number = number_at(program, seeding, found, place)
    if switched is not None and place.own is not None:
        number = number._replace(text=place.own.read)
    given, is_free = ranks.of(number.text), not number.is_known and not ranks.added
    is_whole = len(families) > 1 or is_fresh(program, seeding, process)
    own = by_own_seeder(program, seeding, place, families, given, is_free=is_free) if is_whole else None
    lines, edits = _with_rank(place, ranks, *(own or seed_calls(place.scope, place.statement, families, given)))
    edits = (*edits, *number.edits)
    if switched is not None:  # who gives a negative number still gets other numbers each time
        lines = [f"if {number.text} >= 0:", *(indentation(place.scope.facts) + line for line in lines)]
        edits = (*edits, *with_default(switched, str(usual_seed(switched.facts, program)), program))
    is_renamed = any(line.lstrip().startswith("_") for line in lines)  # the module's name has another use
    is_doubtful = is_wanted or (
        own is None and is_whole and has_idle_seeder(program, place.scope, place.statement, families)
    )
    is_doubtful = is_doubtful or ranks.is_alike or is_renamed or is_unclear(seeding, process, families, place, program)
    return Fix((*edits, inserted(place, lines)), is_doubtful)


def _negative_option(seeding: Seeding, place: Place) -> Declaration | None:
    """The option that has the program's seed, where by default it is negative, which is none."""
    option = place.own.option if place.own is not None else None
    return negative_option(seeding, option.name) if option is not None and option.off == "negative" else None


def _with_rank(
    place: Place, ranks: RankSeed, lines: list[str], edits: tuple[Edit, ...]
) -> tuple[list[str], tuple[Edit, ...]]:
    """The seed calls below a line that reads the rank, where only the environment knows it."""
    if not ranks.variable:
        return lines, edits
    os = import_module(place.scope.facts, "os", place.scope, place.statement)
    read = f'{ranks.added} = int({os.text}.environ.get("{ranks.variable}", 0))'
    return [read, *lines], (*os.edits, *edits)
