"""What of a program could not be followed, whether that may train, and whether its project seeds anything at all.

Asked only of programs in which no seed and no draw was found to speak of: it reads files by their text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered, start_of
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Result
from torchrepro_lint.index import Binding, ModuleFacts, Scope, last_name
from torchrepro_lint.project.contents import called_in, is_test
from torchrepro_lint.rng.draws import seeder_of
from torchrepro_lint.rng.updates import is_on_optimizer
from torchrepro_lint.seeding.seeding import TRAINS, Link, Seeding, transparent
from torchrepro_lint.seeding.transfer import seeds

MAX_FUNCTIONS = 400  # that something chosen at run time may run, by their names
_SIGNS = ("seed", "Seed", "SEED", "eterminis", "eproduc", "andomness", "t_random", "x_random", "state(")
_SEED_ARGUMENT = re.compile(r"(?:\w+_)?seed", re.IGNORECASE)
# What these are given as `seed=` is for one object, or for the generators of another framework.
_OWN_SEED = ("torch.", "numpy.", "random.", "sklearn.", "tensorflow.", "jax.", "datasets.", "optuna.", "xgboost.",
             "lightgbm.", "catboost.", "albumentations.")  # fmt: skip
_OF_INTEREST = ("torch", "numpy", "random")  # one of which a file that draws mentions
_TENSORS = ("torch", "pytorch", "lightning", "accelerate", "transformers", "timm", "monai", "diffusers", "peft",
            "stable_baselines3", "sb3_contrib")  # fmt: skip


# -- seeds of the project ---------------------------------------------------------------------------------------------
@remembered
def never_seeds(family: str, program: Program) -> bool:
    """Whether no file of the project but its tests calls a function that seeds a family, is believed to for its name,
    or is given a seed by a library of which nothing is known."""
    found = _speaking_of_seeds(program)
    return found is not None and not any(_seeds(family, facts, program) for facts in program.loaded(sorted(found)))


def never_seeds_itself(seeding: Seeding, program: Program) -> bool:
    """Whether none seeds torch of those that a program imports, directly or through each other, and it imports nothing
    that is only named at run time: what other programs of the project seed is not seeded for it."""
    start, found = seeding.entry.facts, _speaking_of_seeds(program)
    if found is None or start.source.cells or names_code(seeding):  # the imports of a notebook are not known
        return False
    reached = found & program.project.reachable(start.source.path)
    return not any(_seeds("torch", facts, program) for facts in program.loaded(sorted(reached)))


@remembered
def _speaking_of_seeds(program: Program) -> frozenset[Path] | None:
    """The files that mention what may be a seed; None where any may."""
    text = program.project.text
    names = catalogue.last_parts((*catalogue.names("rng", "seeders"), *program.project.seed_functions))
    found = [text.containing(sign) for sign in _SIGNS] + [text.mentioning(name) for name in names]
    if any(paths is None for paths in found):
        return None
    return frozenset(path for paths in found for path in paths or ())


@remembered
def _seeds(family: str, facts: ModuleFacts, program: Program) -> bool:
    return not is_test(facts) and any(
        _may_seed(family, call, scope, program) or _is_given_seed(call, scope, program)
        for call, scope in facts.every_call()
    )


def _may_seed(family: str, call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call seeds, and not other families only: `np.random.seed(0)` does nothing for torch."""
    name = program.callee(call, scope)
    if not seeds(program, name, call, scope):
        return False
    seeder = seeder_of(program, name, call, scope)
    return seeder is None or family in seeder.families


def _is_given_seed(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`Trainer(seed=1)` of a library of which nothing is known may seed."""
    given = [k for k in call.keywords if k.arg is not None and _SEED_ARGUMENT.fullmatch(k.arg)]
    if not any(not (isinstance(k.value, ast.Constant) and k.value.value is None) for k in given):
        return False
    name = program.callee(call, scope)
    return name is not None and not name.startswith(_OWN_SEED)


# -- what could not be followed -------------------------------------------------------------------------------------
def unfollowed(seeding: Seeding, program: Program) -> list[Link]:
    """The calls of a program that run what is not known, in the order of the run, each once."""
    steps = {id(s.node): s for s in seeding.unfollowed}.values()
    return [s for s in steps if not _is_of_library(s, program)]


def opaque(seeding: Seeding, program: Program) -> list[Link]:
    """The calls that may build what is trained: of what is chosen at run time, or of a library of which nothing is
    known."""
    known = transparent()
    files = [sorted(facts.every_call(), key=lambda site: start_of(site[0])) for facts in seeding.visited]
    written = [Link(*s) for sites in files for s in sites if seeding.runs(*s) and _is_opaque(*s, program, known)]
    return [*written, *(s for s in unfollowed(seeding, program) if _is_looked_up(s))]


def _is_opaque(call: ast.Call, scope: Scope, program: Program, known: Collection[str]) -> bool:
    """Whether an external call whose result is used may build what is trained."""
    name = program.callee(call, scope)
    if name is None or isinstance(scope.facts.parents.get(call), ast.Expr):
        return False
    chosen = name in catalogue.names("callables", "chosen") and not _is_written_out(call)
    return chosen or name.partition(".")[0] not in known


def is_drawn_by(step: Link, seeding: Seeding, program: Program) -> bool:
    """Whether a call makes what draws: new weights, or dropout where those of a checkpoint are loaded and trained."""
    if seeding.loads_weights:
        return any(seeding.calls("train")) and _has_dropout(step, program)  # a checkpoint is loaded in evaluation mode
    return _makes_anew(step, program)


def _makes_anew(step: Link, program: Program) -> bool:
    """Whether a call makes an object of an external class of which nothing is known, as `Net(3)`, or what is looked up
    in what the program has imported."""
    name = program.callee(step.node, step.scope) if isinstance(step.node, ast.Call) else None
    is_class = name is not None and name.rpartition(".")[2][:1].isupper() and not name.startswith(_TENSORS)
    return is_class or _is_looked_up(step)


def _has_dropout(step: Link, program: Program) -> bool:
    """Whether a call loads a network of transformers that has dropout, which draws while it is trained."""
    call = step.node
    name = program.callee(call, step.scope) if isinstance(call, ast.Call) and call.args else None
    row, (owner, _, method) = catalogue.table("frameworks")["fresh"], (name or "").rpartition(".")
    if method not in row["from_checkpoint"] or owner.partition(".")[0] != row["package"]:
        return False
    last, checkpoint = owner.rpartition(".")[2], program.literal(call.args[0], step.scope)  # type: ignore[attr-defined]
    is_network = re.fullmatch(row["network"], last) is not None
    return is_network and re.search(row["dropout"], f"{last} {checkpoint}") is not None


def _is_looked_up(step: Link) -> bool:
    """`MODELS[name]()`, `find(name)()`, and `kind()` below `kind = MODELS[name]` or `kind = eval(name)`."""
    function = step.node.func if isinstance(step.node, ast.Call) else None
    match step.scope.bindings_of(function) if isinstance(function, ast.Name) else ():
        case [Binding(kind="assign", value=ast.Subscript() | ast.Call(func=ast.Name("eval" | "getattr" | "next")))]:
            return True
    return isinstance(function, ast.Subscript | ast.Call)


def _is_written_out(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant)


def _is_of_library(step: Link, program: Program) -> bool:
    """Whether a method is a literal's, or that of something that a library made or is the base of."""
    function = step.node.func if isinstance(step.node, ast.Call) else None
    if not isinstance(function, ast.Attribute):
        return False
    held = function.value
    if isinstance(held, ast.Name) and held.id == step.scope.function.self_name and step.scope.method_class:
        return _is_inherited(function.attr, step.scope.method_class, program)
    for origin in program.origins(held, step.scope):
        match origin:
            case Constant() | Display() | Result(callee=str()):
                continue
            case Result(callee=Scope(kind="class") as owner) if _is_inherited(function.attr, owner, program):
                continue
        return False
    return True


def _is_inherited(name: str, owner: Scope, program: Program) -> bool:
    """Whether a class of the project has a method from a library's class only."""
    own = program.names.classes(owner)
    return len(own) < len(program.names.bases(owner)) and not any(
        name in b.bindings or name in b.attributes for b in own
    )


# -- training -------------------------------------------------------------------------------------------------------
@remembered
def may_train(seeding: Seeding, program: Program) -> bool:
    """Whether a program updates the weights of a model, for all that is known: it steps an optimizer of a model's
    parameters, calls a framework's fit or resumes an optimizer, or something chosen at run time has methods that do."""
    if _steps_a_model(seeding) or any(_fits(call, scope, program) for call, scope in seeding.calls("fit")):
        return True
    if seeding.is_trained_by_library or _resumes_an_optimizer(seeding, program):
        return True
    if not _chooses(seeding):
        return False
    start = seeding.entry.facts.source
    is_named = names_code(seeding) or start.cells  # the imports of a notebook are not known
    reached = None if is_named else program.project.reachable(start.path)
    return _trains_by_name({_last(s) for s in unfollowed(seeding, program)}, reached, program)


def uses_tensors(seeding: Seeding) -> bool:
    """Whether any file of the program imports torch, or a library that is built on it."""
    return any(name.startswith(_TENSORS) for facts in seeding.visited for name in facts.packages)


def may_use_tensors(seeding: Seeding, program: Program) -> bool:
    """Whether any file does that the program may run: one that it imports, or may choose at run time."""
    if uses_tensors(seeding):
        return True
    files = program.project.text.mentioning("torch")
    if not files or _chooses(seeding):
        return bool(files)
    return not program.project.reachable(seeding.entry.facts.source.path).isdisjoint(files)


def _steps_a_model(seeding: Seeding) -> bool:
    wanted = (("backward", "manual_backward"), ("step",), ("parameters", "named_parameters", "param_groups"))
    return all(any(seeding.calls(*names)) for names in wanted)


def _resumes_an_optimizer(seeding: Seeding, program: Program) -> bool:
    """Whether an optimizer's state is kept and put back, as `algorithm.optimizer` of a library that steps it."""
    return all(
        any(
            (scope.function.kind == "module" or scope.function in seeding.entered)  # not only by its name
            and is_on_optimizer(call, scope, program)
            for call, scope in seeding.calls(name)
        )
        for name in ("state_dict", "load_state_dict")
    )


def _fits(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether `fit` is that of a framework for tensors, or of something unknown, as a configuration names it, not of
    scikit-learn."""
    if not isinstance(call.func, ast.Attribute):
        return False
    made = [result.callee for result in program.results(call.func.value, scope)]
    named, known = [maker for maker in made if isinstance(maker, str)], transparent()
    chosen = catalogue.names("callables", "chosen")
    return (
        not made
        or None in made
        or any(name in chosen or name.startswith(_TENSORS) or name.partition(".")[0] not in known for name in named)
    )


def _chooses(seeding: Seeding) -> bool:
    """Whether a program runs what is only named at run time, or is an item of something."""
    return any(map(_is_looked_up, seeding.unfollowed)) or names_code(seeding)


def names_code(seeding: Seeding) -> bool:
    """Whether a program imports or makes what is only named at run time."""
    return any(_naming(seeding))


def named_code(seeding: Seeding, program: Program) -> list[ModuleFacts] | None:
    """The files of the project that a program may import by such names, where each begins with a package of the
    project: `import_module(f"models.{name}")`; of what gin makes, those that mark something for it. None where it may
    be anything."""
    text, names = program.project.text, list(_naming(seeding))
    if not names:
        return []
    marked = sorted(text.mentioning("gin") or ()) if any(name.startswith("gin.") for _, name in names) else []
    files = sorted({path for word in _OF_INTEREST for path in text.mentioning(word) or ()})
    parts = [_package_of(call) for call, name in names if not name.startswith("gin.")]
    found = [[path for path in files if part and f"/{part}/" in f"/{path.as_posix()}"] for part in parts]
    return list(program.loaded((*marked, *(path for paths in found for path in paths)))) if all(found) else None


def _naming(seeding: Seeding) -> Iterator[tuple[ast.Call, str]]:
    found = seeding.calls_of(catalogue.names("callables", "chosen"))
    return ((call, name) for call, name in found if not _is_written_out(call))


def _package_of(call: ast.Call) -> str:
    """The folder of the package with which the name that a call imports begins, if that is written out."""
    match call.args[:1]:
        case [ast.JoinedStr(values=[ast.Constant(value=str() as text), *_])]:
            pass
        case [ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Add() | ast.Mod())]:
            pass
        case _:
            return ""
    return text.partition("%")[0].rpartition(".")[0].replace(".", "/")


def _last(step: Link) -> str:
    return last_name(step.node.func if isinstance(step.node, ast.Call) else step.node)


def _trains_by_name(names: Iterable[str], reached: Collection[Path] | None, program: Program) -> bool:
    """Whether any function of these files with one of these names computes gradients, or calls one that does; None: of
    all files of the project."""
    pending = [n for n in sorted(names) if n]
    seen = set(pending)
    for _ in range(MAX_FUNCTIONS):
        if not pending:
            return False
        found = _called_in(pending.pop(), program)
        called = {name for path, names in found.items() if reached is None or path in reached for name in names}
        if not called.isdisjoint(TRAINS):
            return True
        new = sorted(n for n in called - seen if not n.startswith("__"))
        seen.update(new)
        pending += new
    return False


@remembered
def _called_in(name: str, program: Program) -> dict[Path, Collection[str]]:
    """The names that functions of the project called `name` call, by their files."""
    says, paths = program.project.files.says, program.project.text.defining(name)
    return {path: says(str(path), called_in, name) or () for path in paths}
