"""Which programs train: those that are compared run by run, so that what a fix changes is what their authors want; and
whose results are meant to vary, since they answer whoever asks."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.project import roles
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.entries import STARTS, entries, is_tried_out
from torchrepro_lint.seeding.noise import learns_noise
from torchrepro_lint.seeding.seeding import TRAINS, Seeding
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.unfollowed import may_train, may_use_tensors, names_code, uses_tensors

_TRAINS_BY_NAME = re.compile(r"(?i)backward|step|train|fit(?!_transform)|learn|optim|run|main")
_TRAINER = re.compile(r"(?i)train|learn|agent|runner|engine|solver|algo|experiment|pipeline|session")
_STEPS = frozenset({"step", "zero_grad", "fit", "minimize", "manual_backward"})
_MEASURES = re.compile(r"(?i)bench|perf(?:ormance)?(?:_|$)")
_TRIED = re.compile(
    r"#+\s*(?:(?:only |just )?for (?:testing|debugging|a (?:quick |short )?test)\b"
    r"|test (?:the )?(?:class|function|method|model|module)\b)",
    re.IGNORECASE,
)
_GRADIENTS = frozenset({"backward", "manual_backward", "fit", "train", "grad", "value_and_grad", "minimize"})
MAX_PROGRAMS = 16  # that run the code of one file


def is_for_training(seeding: Seeding, program: Program) -> bool:
    """Whether a program is there to train with PyTorch. Of any other it is for a person to say whether it should give
    the same on every run: one that samples pictures for someone to look at, tries a module out, or prepares data.
    Nor is it clear of a module that others import, and that trains under its own guard to show what it can do."""
    if not (seeding.trains or may_train(seeding, program)) or is_tried_out(seeding.entry.facts, program.project):
        return False
    if not seeding.entry.facts.packages.isdisjoint({*_web(), *_robots()}):
        return False  # what it trains, it trains when it is asked to, or while a robot moves
    if any(seeding.calls(*catalogue.table("frameworks")["windows"]["methods"])):
        return False
    if (
        seeding.measures_time
        or _computes_nothing(seeding)
        or learns_noise(seeding, program)
        or _is_tried_once(seeding, program)
        or is_named_otherwise(seeding.entry.facts, program)
        or is_said_to_be_tried(seeding.entry.facts)
        or (roles.shows_gradients(seeding.entry.facts.source.rel) and "step" not in seeding.entry.facts.calls)
    ):
        return False
    if not may_use_tensors(seeding, program) and _fits_its_own(seeding, program):
        return False
    return uses_tensors(seeding) or names_code(seeding)


def _fits_its_own(seeding: Seeding, program: Program) -> bool:
    """Whether all that a program trains by are methods of the project that have the name: `trajectory.fit()`."""
    made = [program.runs(*site) for site in seeding.calls(*TRAINS)]
    return bool(made) and all(found and all(isinstance(callee, Scope) for callee in found) for found in made)


def _computes_nothing(seeding: Seeding) -> bool:
    """Whether a program clears gradients, and none of its files computes any: it shows what a scheduler does."""
    named = {name for facts in seeding.visited for name in facts.calls}
    return "zero_grad" in named and named.isdisjoint(_GRADIENTS)


def _is_tried_once(seeding: Seeding, program: Program) -> bool:
    """Whether a program shows how something is done: a notebook that takes a step or two, another that does so on input
    that it makes up, or the guard of a file with classes that does it any number of times."""
    facts, trains = seeding.entry.facts, seeding.trains_repeatedly or may_train(seeding, program)
    if is_called_benchmark(facts):
        return True
    is_in_sight = "backward" in facts.calls and not seeding.trains_repeatedly
    if facts.source.cells:
        is_elsewhere = not may_train(seeding, program) and not any(map(_TRAINS_BY_NAME.search, facts.calls))
        return is_in_sight or is_elsewhere or not (trains and seeding.updates)
    is_named = roles.is_no_training(facts.source.rel)
    if is_named and (is_in_sight or ("backward" in facts.calls and seeding.reached.isdisjoint(_STEPS))):
        return True
    if _tries_layers(seeding) and (not trains or "backward" in seeding.reached):
        return True
    if not trains:
        return seeding.is_made_up or seeding.is_shown or is_named
    is_made_up = seeding.is_made_up or seeding.is_made_up_by("numpy")
    return is_made_up and (is_named or (seeding.entry.is_guarded and _defines_layers(facts)))


def is_said_to_be_tried(facts: ModuleFacts) -> bool:
    """Whether a comment says that the main block, or a function that it calls, is there to try the file out:
    `def main():  # for testing`."""
    if facts.guard is None:
        return False
    begins = range(facts.guard.lineno, facts.guard.body[0].lineno)  # its own comments
    called = {name for name, sites in facts.calls.items() for call, _ in sites if facts.in_guard(call)}
    lines = (child.node.lineno for child in facts.scope.children.values() if child.name in called)  # type: ignore[attr-defined]
    return any(_TRIED.search(facts.source.line(line)) for line in (*begins, *lines))


def is_called_benchmark(facts: ModuleFacts) -> bool:
    """Whether a file is called a benchmark."""
    return _MEASURES.match(facts.source.path.stem) is not None


def _tries_layers(seeding: Seeding) -> bool:
    """Whether the guard of a file with layers makes nothing of the gradients that it computes, or takes one step."""
    inside = seeding.entry.facts.scope.children.values()
    is_of_layers = any(scope.kind == "class" and "forward" in scope.bindings for scope in inside)
    is_one_step = "backward" in seeding.entry.facts.calls and not seeding.trains_repeatedly
    return is_of_layers and seeding.entry.is_guarded and (is_one_step or not seeding.updates)


def is_named_otherwise(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file without a step of training says by its name that it does something else. What a step gives, an
    environment has made."""
    steps = (call for call, _ in facts.calls.get("step", ()))
    trains = any(name in facts.calls for name in TRAINS if name != "zero_grad")
    trains = trains or not all(map(_sets_mode, (call for call, _ in facts.calls.get("train", ()))))
    trains = trains or any(isinstance(facts.parents[call], ast.Expr) for call in steps)
    says = not trains and roles.is_no_training(facts.source.rel)
    return program.by_name(says, "that a program trains nothing", facts.scope, facts.source.rel)


def _sets_mode(call: ast.Call) -> bool:
    """Whether a call of `train` is that of a model, which sets its mode: `layer.train()`, not `trainer.train()`."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.expr() as held), args=[], keywords=[]):
            return _TRAINER.search(ast.unparse(held)) is None
    return False


def is_called_otherwise(facts: ModuleFacts, program: Program) -> bool:
    """The same, where a folder named `pipeline` does not count: it may hold the data of a training."""
    holds_pipeline = any(part.endswith(("pipeline", "pipelines")) for part in facts.source.rel.split("/")[:-1])
    is_named = roles.is_no_training(facts.source.path.name) or not holds_pipeline
    return is_named and is_named_otherwise(facts, program)


def _defines_layers(facts: ModuleFacts) -> bool:
    """Whether a file defines classes, and no function that is a program."""
    inside = facts.scope.children.values()
    return any(scope.kind == "class" for scope in inside) and not any(
        STARTS.match(scope.name) for scope in inside if scope.kind == "function"
    )


@remembered
def trains_nothing(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file is run as a program, and does not train then."""
    found = seedings(facts, program)
    return bool(found) and not any(s.trains or may_train(s, program) for s in found)


def is_notebook_without_training(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file is a notebook that trains nothing, and does not say how either, in a function not called now."""
    return bool(facts.source.cells) and trains_nothing(facts, program) and "backward" not in facts.calls


def is_run_to_evaluate(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file is run as a program that trains nothing, and puts a model into evaluation mode."""
    return trains_nothing(facts, program) and any("eval" in s.reached for s in seedings(facts, program))


@remembered
def only_evaluates(facts: ModuleFacts, program: Program) -> bool:
    """Whether programs run the code of a file to use a model, and none of them trains: the file itself, or those that
    import it."""
    if is_test(facts) or is_named_otherwise(facts, program):
        return True
    found = [(uses_model(f, program), trains_nothing(f, program)) for f in _started_with(facts, program)]
    return any(uses for uses, _ in found) and all(trains_not for _, trains_not in found)


@remembered
def is_trained(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program in sight trains, of those that run the code of a file: the file itself, or those that import
    it."""
    return any(not trains_nothing(start, program) for start in _started_with(facts, program))


def _started_with(facts: ModuleFacts, program: Program) -> list[ModuleFacts]:
    """The file and those that import it, where they start programs: the first few."""
    own = facts.source.path
    loaded = program.loaded((own, *sorted(program.project.users([own]))))
    return [f for f in loaded if entries(f, program.project)][:MAX_PROGRAMS]


@remembered
def uses_model(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program that a file starts loads weights, or puts a model into evaluation mode."""
    return any(map(_uses_model, seedings(facts, program)))


def _uses_model(seeding: Seeding) -> bool:
    return seeding.loads_weights or "eval" in seeding.reached


def evaluates(seeding: Seeding, program: Program) -> bool:
    """Whether a program uses a model, and trains none."""
    return _uses_model(seeding) and not (seeding.trains or may_train(seeding, program))


def _web() -> Sequence[str]:
    return catalogue.table("frameworks")["web"]["packages"]  # type: ignore[no-any-return]


def _robots() -> Sequence[str]:
    return catalogue.table("frameworks")["robots"]["packages"]  # type: ignore[no-any-return]


def is_demonstration(seeding: Seeding) -> bool:
    """Whether a program trains nothing, and serves requests or reads what a person types again and again: a constant
    seed would give everyone the same."""
    if seeding.trains:
        return False
    typed = (site for site in seeding.calls("input") if isinstance(site[0].func, ast.Name))
    return any(not facts.packages.isdisjoint(_web()) for facts in seeding.visited) or any(
        isinstance(holder, ast.While | ast.For) for call, scope in typed for holder in scope.facts.ancestors(call)
    )
