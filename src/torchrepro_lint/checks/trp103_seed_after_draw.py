"""TRP103: a family is seeded on the path, but random numbers were drawn from it before."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Fix, Place
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import Scope, last_name, names_in, walk
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.seeding.seedings import seedings

if TYPE_CHECKING:
    from torchrepro_lint.model import Edit
    from torchrepro_lint.rng.draws import Seeder
    from torchrepro_lint.seeding.seeding import Late, Link, Seeding


def check(module: Module, program: Program) -> Iterator[Draft]:
    for seeding in seedings(module.facts, program):
        for family in FAMILIES:
            late = seeding.seeded_late(family)
            if late is None or _is_only_shown(seeding, late, program) or not _repeats(late, program):
                continue
            if not _is_of_trainer(late, module):
                yield _draft(seeding, family, late, program)


def _is_of_trainer(late: Late, module: Module) -> bool:
    """Whether what is drawn are weights of which TRP603 tells: those that a Trainer of transformers is given. The head
    of a model that it is not given is not trained, and its checkpoint is expected to have one."""
    from torchrepro_lint.rng.fresh_weights import fresh_weights, may_draw_weights

    program, (draw, seeder) = module.program, (late.witness.draw, late.seeder)
    name, trainers = program.callee(draw.node, draw.scope) or "", catalogue.names("frameworks", "hf_trainers")
    if not may_draw_weights(name):
        return False
    is_by_trainer = (program.callee(seeder.node, seeder.scope) or "").removesuffix(".__init__") in trainers
    if is_by_trainer and not draw.sure and name not in catalogue.names("frameworks", "adapters"):
        return True
    models = (call.argument("model", 0) for call in module.calls(trainers))
    weights = (fresh.node for model in models if isinstance(model, Site) for fresh in fresh_weights(model, program))
    return draw.node in weights


def _repeats(late: Late, program: Program) -> bool:
    """Whether the seed is the same in each run: with another, nothing is gained by setting it early."""
    from torchrepro_lint.rng.entropy import is_new_in_every_run  # few files seed late

    return not is_new_in_every_run(late.seeder, program)


def _is_only_shown(seeding: Seeding, late: Late, program: Program) -> bool:
    """Whether a cell of a notebook that trains draws for itself alone: an example that is looked at."""
    facts = seeding.entry.facts
    if not facts.source.cells or not seeding.trains:
        return False
    from torchrepro_lint.seeding.cells import is_for_training  # few notebooks seed late

    drawn = _step_of_entry(seeding, late).node
    top = next((s for s in (drawn, *facts.ancestors(drawn)) if facts.parents.get(s) is facts.tree), None)
    return isinstance(top, ast.stmt) and not is_for_training(top, facts, program)


def _step_of_entry(seeding: Seeding, late: Late) -> Link:
    """The last call on the way to the draw that stands in the file that starts the program."""
    steps = late.witness.chain
    return next((s for s in reversed(steps) if s.scope.facts is seeding.entry.facts), steps[0])


def _draft(seeding: Seeding, family: str, late: Late, program: Program) -> Draft:
    steps = late.witness.chain
    here = max((i for i, s in enumerate(steps) if s.scope.facts is seeding.entry.facts), default=0)
    drawn = tuple(
        Place(s.scope.facts, s.node, f"the {family} generator is drawn from here") for s in steps[here + 1 :][-1:]
    )
    seeded = Place(late.seeder.scope.facts, late.seeder.node, f"the {family} generator is seeded only here")
    moved = _edits(late, seeding)
    fix = Fix(moved, unsafe=True) if moved else _own_seed(late, program)
    return Draft(
        steps[here].node,
        {"family": family, "draw": late.witness.draw.what, "seed": _seed_written(seeding, late)},
        certainty=Certainty.CERTAIN if late.witness.sure else Certainty.LIKELY,
        properties={"family": family},
        related=(*drawn, seeded),
        edits=fix.edits,
        unsafe=fix.unsafe,
    )


def _own_seed(late: Late, program: Program) -> Fix:
    """Give the call that draws a seed of its own, where it takes one: the split of a data set, made-up samples."""
    draw = late.witness.draw
    if not draw.seed:
        return Fix()
    from torchrepro_lint.checks.argument_edit import passing  # late: few files seed late
    from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
    from torchrepro_lint.rng.own_seed import seed_text

    if runs_often(program, draw.node, draw.scope):
        return Fix()  # it would draw the same each time
    call = Call(draw.node, draw.scope, "", program)
    seed = seed_text(draw.scope, draw.node, program)
    is_given = not {"parse_args_into_dataclasses", "parse_args_and_config"}.isdisjoint(draw.scope.facts.calls)
    is_unclear = seed.isdecimal() and is_given  # `training_args.seed`, of which no name is known here
    return Fix(passing(call, draw.seed, seed), unsafe=is_unclear or not runs_once(program, draw.node, draw.scope))


def _seed_written(seeding: Seeding, late: Late) -> str:
    """The call that seeds; where it lies in another file, the call of the entry's file that leads to it."""
    own = [s for s in late.chain if s.scope.facts is seeding.entry.facts and isinstance(s.node, ast.Call)]
    facts = late.seeder.scope.facts
    if facts is seeding.entry.facts or not own:
        return facts.text(late.seeder.node)
    call = own[-1].node
    assert isinstance(call, ast.Call)
    return f"{seeding.entry.facts.text(call.func)}({'...' if call.args or call.keywords else ''})"


class _Move(NamedTuple):
    """A seed call, or the call of a helper that seeds, and the statement of the same body that draws before it."""

    seed: ast.Expr
    draw: ast.stmt
    scope: Scope


def _edits(late: Late, seeding: Seeding) -> tuple[Edit, ...]:
    """Move the seed call above the first statement that draws from any family that it seeds."""
    moves = [move for move in map(_move, seeding.late.values()) if move is not None]
    own = _move(late)
    if own is None:
        return ()
    seed, scope, facts = own.seed, own.scope, own.scope.facts
    draw = min((move.draw for move in moves if move.seed is seed), key=lambda statement: statement.lineno)
    if not all(_known_before(name, scope, draw) for name in names_in(seed)):
        return ()
    from torchrepro_lint.syntax import insert_before, remove

    return (remove(facts, seed), insert_before(facts, draw, facts.text(seed)))


def _move(late: Late) -> _Move | None:
    """None where the two are not in one body, or the helper does more than set things up."""
    pairs = zip(late.witness.chain, late.chain, strict=False)
    drawn, seeded = next((pair for pair in pairs if pair[0].node is not pair[1].node), (None, None))
    if drawn is None or seeded is None or seeded.scope is not drawn.scope or _runs_what_it_seeds(late.seeder):
        return None
    helpers = {step.scope.function for step in late.chain[late.chain.index(seeded) + 1 :]}
    if seeded.scope.kind not in ("module", "function") or not all(map(_only_sets_up, helpers)):
        return None
    facts = seeded.scope.facts
    seed, draw = facts.statement(seeded.node), facts.statement(drawn.node)
    body: list[ast.stmt] = getattr(facts.parents[seed], "body", [])
    if not isinstance(seed, ast.Expr) or seed.value is not seeded.node or seed not in body or draw not in body:
        return None
    return _Move(seed, draw, seeded.scope)


def _runs_what_it_seeds(seeder: Seeder) -> bool:
    """`ex.run()`"""
    from torchrepro_lint.rng.draws import seeder_methods  # late: few files seed late

    return "runs" in seeder_methods().get(last_name(seeder.node.func), ())


def _only_sets_up(helper: Scope) -> bool:
    """Whether a function can run earlier: it only calls and sets, and returns nothing."""
    return isinstance(helper.node, ast.FunctionDef) and not any(
        isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom)
        or (isinstance(node, ast.Return) and node.value is not None)
        for node in walk(helper.node)
    )


def _known_before(name: str, scope: Scope, statement: ast.stmt) -> bool:
    owner = scope.binding_scope(name)
    if owner is None:
        return True
    bindings = owner.bindings[name]
    return len(bindings) == 1 and (
        owner is not scope
        or bindings[0].kind in ("parameter", "import")
        or getattr(bindings[0].node, "end_lineno", 0) < statement.lineno
    )
