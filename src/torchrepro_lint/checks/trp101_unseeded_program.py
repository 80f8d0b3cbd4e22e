"""TRP101: a program draws random numbers that no seed dominates. One finding per entry point and family."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Certainty, Edit
from torchrepro_lint.program import FAMILIES, Module, Program

if TYPE_CHECKING:
    from torchrepro_lint.program.randomness.seeding import Seeding, Witness

SEED_CALLS = {"torch": "torch.manual_seed", "numpy": "numpy.random.seed", "python": "random.seed"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in program.seedings(module.facts):
        for family in FAMILIES:
            missing = seeding.missing(family)
            if missing is not None:
                yield _draft(program, seeding, *missing)


def _draft(program: Program, seeding: Seeding, witness: Witness, certain: bool) -> Draft:
    family = witness.draw.family
    conditional = seeding.conditional.get(family)
    related = _chain(witness)
    if conditional is not None:
        related = (Place(conditional.scope.facts, conditional.node, "seeded only if its seed is given"), *related)
    return Draft(
        _start(seeding, witness),
        {"family": family, "draw": witness.draw.what, "call": SEED_CALLS[family]},
        message=_message(seeding, witness, certain),
        certainty=Certainty.CERTAIN if certain else Certainty.LIKELY,
        properties={"family": family},
        related=related,
        edits=_seed_edits(program, seeding, witness),
    )


def _message(seeding: Seeding, witness: Witness, certain: bool) -> str | None:
    if certain:
        return None
    if witness.process is not None:
        return "spawned"
    return "conditional" if witness.draw.family in seeding.conditional else None


def _chain(witness: Witness) -> tuple[Place, ...]:
    """The calls that lead to the draw, as places in reading order."""
    *calls, last = witness.chain
    steps = [Place(s.scope.facts, s.node, "reached through here") for s in calls]
    return (*steps, Place(last.scope.facts, last.node, f"{witness.draw.family} is drawn from here"))


def _start(seeding: Seeding, witness: Witness) -> ast.stmt:
    """Where the program starts: its guard, or the statement of a script that leads to the draw."""
    entry = seeding.entry
    return (
        entry.node if entry.is_guarded else _top_statement(entry.facts.tree, witness, entry.facts.scope) or entry.node
    )


def _top_statement(owner: ast.AST, witness: Witness, scope: Scope) -> ast.stmt | None:
    """The statement in the body of `owner` that contains the first step of the chain written in `scope`."""
    body: list[ast.stmt] = getattr(owner, "body", [])
    step = next((s for s in witness.chain if s.scope.function is scope), None)
    if step is None:
        return None
    line = step.node.lineno  # type: ignore[attr-defined]
    return next((n for n in body if n.lineno <= line <= (n.end_lineno or 0)), None)


def _seed_edits(program: Program, seeding: Seeding, witness: Witness) -> tuple[Edit, ...]:
    """Seed the family at the top of the program, from its own seed where one is in scope before the draw."""
    from torchrepro_lint.syntax import import_name, insert_before, insert_first

    facts, guard = seeding.entry.facts, seeding.entry.facts.guard
    call = SEED_CALLS[witness.draw.family]

    def lines(scope: Scope, seed: str) -> tuple[str, tuple[Edit, ...]]:
        name = import_name(scope.facts, call, scope)
        return f"{name.text}({seed})", name.edits

    if witness.process is not None:
        child = witness.process
        line, imports = lines(child, str(program.seed))
        return (*imports, insert_first(child.facts, child.node, line)) if child.facts is facts else ()  # type: ignore[arg-type]
    for step in witness.chain[1:2]:  # in main(), below its arguments
        main = step.scope.function
        statement = _top_statement(main.node, witness, main) if main.facts is facts else None
        seed = program.seeds.own(main, statement) if statement is not None else None
        if statement is not None and seed is not None and main.kind == "function":
            line, imports = lines(main, seed)
            return (*imports, insert_before(facts, statement, line))
    top = _top_statement(facts.tree, witness, facts.scope)
    if guard is not None and (top is None or top is guard):
        inner = _top_statement(guard, witness, facts.scope)
        own = program.seeds.own(facts.scope, inner) if inner is not None else None
        line, imports = lines(facts.scope, own or str(program.seed))
        if own is not None and inner is not None:
            return (*imports, insert_before(facts, inner, line))
        return (*imports, insert_first(facts, guard, line))
    if top is None or (facts.statement(witness.chain[0].node) is not top and isinstance(top, ast.Import)):
        return ()
    line, imports = lines(facts.scope, program.seeds.expression(facts.scope, top))
    return (*imports, insert_before(facts, top, line))
