"""TRP603: a model whose weights are drawn before transformers' Trainer, or `set_seed`, seeds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Call, CallSite, Module, Program, Site, start_of
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.dataflow.execution_count import runs_once
from torchrepro_lint.index import Binding, LoopNode, ModuleFacts, Scope
from torchrepro_lint.kernels.programs import MAX_PROGRAMS
from torchrepro_lint.model import Edit
from torchrepro_lint.rng.draws import Seeder
from torchrepro_lint.rng.fresh_weights import FreshWeights, fresh_weights, own_adapter
from torchrepro_lint.rng.own_seed import seed_read_in, seed_text
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.syntax import import_from, insert_before

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding

_PARSES = ("parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file")
MAX_CALLS = 6  # from where both are reached to the one or the other


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each model with fresh weights that nothing seeds before the Trainer does."""
    calls = module.calls(catalogue.names("frameworks", "hf_trainers"))
    trainers = [c for c in calls if not isinstance(c.argument("model_init"), Site)]
    if not trainers or "train" not in module.facts.calls:
        return
    programs = seedings(module.facts, program)
    of_each = [_of_program(s, trainers, program) for s in programs or _elsewhere(trainers, module, program)]
    drafts = {node: found for of_one in reversed(of_each) for node, found in of_one.items()}
    for node, found in drafts.items():
        if programs or all(node in of_one for of_one in of_each):  # a file that others run: in all of them
            yield from found


def _elsewhere(trainers: Sequence[Call], module: Module, program: Program) -> Iterator[Seeding]:
    """The programs of other files that run a function of this one which makes a Trainer."""
    functions = {call.scope.function for call in trainers}
    users = program.project.users([module.facts.source.path])
    for user in program.loaded(users[:MAX_PROGRAMS]):
        yield from (s for s in seedings(user, program) if not functions.isdisjoint(s.entered))


def _of_program(seeding: Seeding, trainers: Sequence[Call], program: Program) -> dict[ast.Call, list[Draft]]:
    """What draws weights too early in one program, each with what is told of it."""
    if not seeding.complete or any(m.seeder is None for m in seeding.met):
        return {}  # an unknown function whose name says that it seeds
    found: dict[ast.Call, list[Draft]] = {}
    seeders = [s for s in (*seeding.seeders, *seeding.conditional.values()) if "torch" in s.families]
    for call in trainers:
        model = call.argument("model", 0)
        made = list(fresh_weights(model, program)) if isinstance(model, Site) else []
        for fresh in [f for f in made if f.what] or own_adapter(call):
            drafts = [] if fresh.node in found else list(_drafts(call, fresh, seeders, made))
            if drafts:
                found[fresh.node] = drafts
    return found


def _drafts(
    trainer: Call, fresh: FreshWeights, seeders: Sequence[Seeder], beside: Sequence[FreshWeights]
) -> Iterator[Draft]:
    made = fresh.node, fresh.scope
    if not all(
        _is_made_by(s, trainer, fresh) or _comes_after((s.node, s.scope), made, trainer.program) for s in seeders
    ):
        return
    others = [s for s in seeders if not _is_made_by(s, trainer, fresh)]
    facts, here = fresh.scope.facts, fresh.scope.facts is trainer.facts
    makers = catalogue.names("frameworks", "hf_trainers")
    late = [s for s in others if _name(s, trainer.program) not in makers]
    seeded = Place(late[0].scope.facts, late[0].node, "seeded only here") if late else None
    values = {"model": facts.text(fresh.node.func), "what": fresh.what, "trainer": trainer.written}
    values["seed"] = late[0].scope.facts.text(late[0].node) if late else ""
    is_own = fresh.node is trainer.node
    message = "late" if late else "own" if is_own else "full" if _is_fully_determined(trainer) else None
    own = () if is_own else (Place(trainer.facts, trainer.node, "seeded only here"),)
    related: tuple[Place, ...] = (seeded,) if seeded is not None else own
    if not here:
        related = (*related, Place(facts, fresh.node, f"{fresh.what} are drawn here"))
    yield Draft(
        fresh.node if here else trainer.node,
        values,
        message,
        related=related,
        edits=_edits(trainer, fresh, beside) if here and not late and _is_first(fresh, beside) else (),
        unsafe=not runs_once(trainer.program, fresh.node, fresh.scope)  # else members of an ensemble begin alike
        or any(other.scope.function is not fresh.scope.function for other in beside),
    )


def _is_first(fresh: FreshWeights, beside: Sequence[FreshWeights]) -> bool:
    """Whether a function draws no other weights for the model further up, whose fix seeds these as well."""
    others = (other for other in beside if other.what and other.scope.function is fresh.scope.function)
    return all(other.node.lineno >= fresh.node.lineno for other in others)


def _place(fresh: FreshWeights, beside: Sequence[FreshWeights]) -> ast.stmt:
    """The statement to seed above: what draws first, or holds all that draws one way or another, as an `if` or `try`
    does; what a loop draws stays in it."""
    facts, function = fresh.scope.facts, fresh.scope.function
    group = [f.node for f in (fresh, *beside) if f.scope.function is function]
    first = facts.statement(min(group, key=start_of))
    around = (n for n in facts.ancestors(first) if isinstance(n, ast.stmt) and n is not function.node)
    for place in (first, *takewhile(lambda n: not isinstance(n, LoopNode), around)):
        block = block_of(facts, place)
        if all(not set(block).isdisjoint((facts.statement(n), *facts.ancestors(n))) for n in group):
            return place
    return facts.statement(fresh.node)


def _above_choice(place: ast.stmt, trainer: Call, facts: ModuleFacts) -> ast.stmt:
    """The choice of a task that a place stands in, `if task == "qa":`, where what trains for any task stands below."""
    match facts.parents.get(place):
        case ast.If(test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=str())])) as choice:
            is_elif = isinstance(facts.parents.get(choice), ast.If)
            return place if is_elif or choice in facts.ancestors(trainer.node) else choice
    return place


def _name(seeder: Seeder, program: Program) -> str:
    return (program.callee(seeder.node, seeder.scope) or "").removesuffix(".__init__")


def _is_made_by(seeder: Seeder, trainer: Call, fresh: FreshWeights) -> bool:
    """Whether the seed is the one that the Trainer sets itself, maybe through a class of the project's."""
    if seeder.node is trainer.node:  # a Trainer above the model is another model's: names may be rebound
        return fresh.node is trainer.node or seeder.scope.function is not fresh.scope.function
    in_constructor = seeder.scope.function.name.endswith("__init__")
    return in_constructor and _name(seeder, trainer.program) in catalogue.names("frameworks", "hf_trainers")


def _comes_after(later: CallSite, earlier: CallSite, program: Program, further: int = MAX_CALLS) -> bool:
    """Whether a call stands below another one, in the same function, or wherever their functions are called."""
    (last, last_scope), (first, first_scope) = later, earlier
    if last_scope.function is first_scope.function:
        return last.lineno > (first.end_lineno or 0)
    above = _calls_of(first_scope.function, program) if further else ()
    if above and all(_comes_after(later, call, program, further - 1) for call in above):
        return True
    above = _calls_of(last_scope.function, program) if further else ()
    return bool(above) and all(_comes_after(call, earlier, program, further - 1) for call in above)


def _calls_of(function: Scope, program: Program) -> Sequence[CallSite]:
    return program.callers_of(function) or () if function.kind == "function" else ()


def _arguments(trainer: Call) -> Call | None:
    """The call that made the Trainer's TrainingArguments."""
    passed = trainer.argument("args", 1)
    known = catalogue.names("frameworks", "hf_arguments")
    for made in trainer.program.results(*passed) if isinstance(passed, Site) else ():
        if made.callee in known:
            return Call(made.node, made.scope, str(made.callee), trainer.program)
    return None


def _is_fully_determined(trainer: Call) -> bool:
    made = _arguments(trainer)
    return made is not None and made.literal("full_determinism") is True


def _edits(trainer: Call, fresh: FreshWeights, beside: Sequence[FreshWeights]) -> tuple[Edit, ...]:
    """Seed above the statement that builds the model, with the Trainer's own seed where it is known."""
    facts = fresh.scope.facts
    statement = _above_choice(_place(fresh, beside), trainer, facts)
    made = _arguments(trainer)
    given = made.literal("seed") if made is not None else None
    passed = made.argument("seed") if made is not None else None
    read = seed_read_in(fresh.scope, statement, passed, trainer.program) if isinstance(passed, Site) else None
    own = str(given) if type(given) is int else read or _seed_of_arguments(trainer, fresh, statement)
    seed = own or seed_text(fresh.scope, statement, trainer.program)
    name = import_from(facts, "transformers", "set_seed", fresh.scope, statement)
    return (*name.edits, insert_before(facts, statement, f"{name.text}({seed})"))


def _seed_of_arguments(trainer: Call, fresh: FreshWeights, statement: ast.stmt) -> str | None:
    """`training_args.seed`, where the Trainer's arguments are known above the model: as a parameter that says so, or
    read from the command line."""
    passed = trainer.argument("args", 1)
    if not isinstance(passed, Site) or not isinstance(passed.node, ast.Name):
        return None
    name, function = passed.node.id, fresh.scope.function
    if passed.scope.function is not function or fresh.scope.binding_scope(name) is not function:
        return None
    made = function.bindings[name]
    is_above = all(b.kind == "parameter" or getattr(b.node, "lineno", 0) < statement.lineno for b in made)
    return f"{name}.seed" if is_above and all(_has_seed(b, trainer, function) for b in made) else None


def _has_seed(binding: Binding, trainer: Call, scope: Scope) -> bool:
    match binding:
        case Binding(kind="parameter", node=ast.arg(annotation=ast.expr() as annotation)):
            return trainer.program.qualified(annotation, scope) in catalogue.names("frameworks", "hf_arguments")
        case Binding(value=ast.Call(func=ast.Attribute(attr=attr))):
            return attr in _PARSES
    return False
