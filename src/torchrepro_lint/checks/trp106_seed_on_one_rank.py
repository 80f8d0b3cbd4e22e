"""TRP106: only the first process seeds, and the others draw unseeded."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Module, Program, remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.rng.draws import draw_at
from torchrepro_lint.rng.ranks import Guard, first_only
from torchrepro_lint.rng.reseeds import MAX_HELPERS, SeedCall, is_helper, seed_calls


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report the first seed call of each branch that only one process takes."""
    if not any(word in module.facts.source.text for word in ("rank", "main", "master", "chief", "primary")):
        return
    found = [(s, guard) for s in seed_calls(module, program) if (guard := first_only(s.node, s.scope, program))]
    free = _seeded_everywhere(module, program) if found else frozenset()
    reported: set[Guard] = set()
    for seeding, guard in found:
        if guard in reported or seeding.families <= free:
            continue
        if not _draws_inside(guard, seeding, program) and _draws_elsewhere(seeding, program):
            reported.add(guard)
            yield Draft(
                seeding.node,
                {"call": seeding.written, "test": guard.text},
                properties={"families": sorted(seeding.families)},
                related=(Place(module.facts, guard.node, "only the first process runs this"),),
            )


def _seeded_everywhere(module: Module, program: Program) -> frozenset[str]:
    """The families that every process seeds, in this file or in one that it works with; a helper counts where it
    is called."""
    own = module.facts.source.path
    others = {*program.project.users([own]), *program.project.reachable(own)}
    near = (path for path in program.project.text.containing("seed") or () if path != own and path in others)
    files = (module.facts, *program.loaded(near))
    return frozenset(
        family
        for facts in files
        for seeding in seed_calls(Module(facts, program), program)
        if not is_helper(seeding.scope.function, program) and not _is_on_one_rank(seeding, program, MAX_HELPERS)
        for family in seeding.families
    )


def _is_on_one_rank(seeding: SeedCall, program: Program, further: int) -> bool:
    """Whether only the first process seeds, by a test around the call or by what the helper does or is wrapped in."""
    if first_only(seeding.node, seeding.scope, program) is not None:
        return True
    helper = seeding.helper if further else None
    own = _by_function(helper.facts, program).get(helper, []) if helper is not None else []
    return bool(own) and all(_is_on_one_rank(s, program, further - 1) for s in own)


@remembered
def _by_function(facts: ModuleFacts, program: Program) -> dict[Scope, list[SeedCall]]:
    """The seed calls of a file, by the functions that they stand in."""
    found: dict[Scope, list[SeedCall]] = {}
    for seeding in seed_calls(Module(facts, program), program):
        found.setdefault(seeding.scope.function, []).append(seeding)
    return found


@remembered
def _drawing(facts: ModuleFacts, program: Program) -> frozenset[tuple[str, Guard | None]]:
    """The families that the file draws from, each with the branch of one process that the draw is in."""
    draws = ((draw_at(node, scope, program), node, scope) for node, scope in facts.every_call())
    return frozenset((draw.family, first_only(node, scope, program)) for draw, node, scope in draws if draw is not None)


def _draws_inside(guard: Guard, seeding: SeedCall, program: Program) -> bool:
    """Whether the seed is for this process only, such as for a split that it sends to the others."""
    drawing = _drawing(seeding.scope.facts, program)
    return any((family, guard) in drawing for family in seeding.families)


def _draws_elsewhere(seeding: SeedCall, program: Program) -> bool:
    """Whether the processes that are not seeded draw, or train."""
    drawing = _drawing(seeding.scope.facts, program)
    is_drawn = any((family, None) in drawing for family in seeding.families)
    return "backward" in seeding.scope.facts.calls or is_drawn
