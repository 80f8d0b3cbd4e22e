"""What the fix of TRP101 writes: the calls that seed, or one of a function that seeds all generators at once, with the
number that the program names elsewhere, if any.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.checks.seed_families import SEED_CALLS
from torchrepro_lint.checks.seed_place import Place
from torchrepro_lint.checks.worker_seeding import homes
from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.dataflow.abstract_values import Constant, is_configured
from torchrepro_lint.dataflow.enclosing import ONLY_BINDS
from torchrepro_lint.index import Binding, ModuleFacts, Scope, calls_in
from torchrepro_lint.model import Edit
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.draws import draw_at
from torchrepro_lint.rng.own_seeders import OwnSeeder, seeders_in
from torchrepro_lint.rng.seed_options import SEED_NAME, is_seed
from torchrepro_lint.rng.usual_seed import seed_constants, usual_seed
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.unseeded import Unseeded
from torchrepro_lint.syntax import Import, also_imported, import_from, import_module, is_docstring

MAX_FILES = 20  # of a project that seed


class Number(NamedTuple):
    """The seed as it is written, with the import that its name needs; `is_known` where the program has one."""

    text: str
    is_known: bool = True
    edits: tuple[Edit, ...] = ()


def number_at(program: Program, seeding: Seeding, found: Unseeded, place: Place) -> Number:
    """The program's own seed at a place, else the number that it names elsewhere, else the project's usual one."""
    known = place.own.text if place.own is not None else number_elsewhere(program, seeding, found)
    if known is not None:
        return Number(known)
    imported = imported_seed(place.scope, place.statement, program)
    if imported is not None:
        return Number(imported.text, edits=imported.edits)
    number = str(usual_seed(place.scope.facts, program))
    named = seed_in_sight(place.scope, place.statement, program, number)
    return Number(named or number, is_known=named is not None)


def seed_calls(scope: Scope, at: ast.stmt, families: Sequence[str], seed: str) -> tuple[list[str], tuple[Edit, ...]]:
    """The calls that seed, with the imports that they need."""
    facts = scope.facts
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


def by_own_seeder(
    program: Program, seeding: Seeding, place: Place, families: Sequence[str], seed: str, *, is_free: bool
) -> tuple[list[str], tuple[Edit, ...]] | None:
    """A call of the project's own function that seeds all of these; with its default, where the seed `is_free`."""
    scope, at = place.scope, place.statement
    if _at_once(scope.facts, scope, at) is not None:
        return None
    packages = {package for facts in seeding.visited for package in facts.packages}
    name, seeder = own_seeder(program, scope, at, families, packages) or (None, None)
    if name is None or seeder is None:
        return None
    return [f"{name.text}({'' if is_free and seeder.has_default else seed})"], name.edits


def _at_once(facts: ModuleFacts, scope: Scope, at: ast.stmt) -> Import | None:
    """What seeds all generators at once, of a package that the file imports anyway: Lightning's `seed_everything`."""
    always = [b.target for b in facts.imports if facts.parents.get(b.node) is facts.tree and not b.level]
    rows = sorted(catalogue.table("rng")["at_once"].items(), reverse=True)
    for package, name in sorted(rows, key=lambda row: row[0] not in always):  # `import lightning as L` comes first
        if any(target == package or target.startswith(f"{package}.") for target in always):
            module, _, function = name.rpartition(".")
            return import_from(facts, module, function, scope, at)
    return None


def number_elsewhere(program: Program, seeding: Seeding, found: Unseeded) -> str | None:
    """The one number that the code of a program seeds with further on, or under a test."""
    general = [m for m in seeding.met if not is_for_own_draws(program, seeding, found, m.scope.function)]
    given = [(m.seeder.seed, m.scope) for m in general if m.seeder is not None and m.seeder.seed is not None]
    made = [o for seed, scope in given for o in program.origins(seed, scope)]
    numbers = {o.value for o in made if isinstance(o, Constant) and is_seed(o.node) and not is_configured(o)}
    return str(numbers.pop()) if len(numbers) == 1 else None


def is_for_own_draws(program: Program, seeding: Seeding, found: Unseeded, function: Scope) -> bool:
    """Whether a function that is neither the program's nor on the way to what is missing draws itself: that it seeds
    one generator is about these draws."""
    if function.kind == "module" or function is seeding.entry.function:
        return False
    if leads(function, found):
        return False
    calls = ((call, function.facts.scope_of(call)) for call in calls_in(function.node))
    return any(draw_at(call, scope, program) is not None for call, scope in calls)


def leads(function: Scope, found: Unseeded) -> bool:
    """Whether a function is on the way to what is missing."""
    return any(step.scope.function is function for witness in found.draws.values() for step in witness.chain)


def imported_seed(scope: Scope, at: ast.AST, program: Program, number: str = "") -> Import | None:
    """The seed that a module of the project names, from which the file imports other names; if it is to be a number,
    one that is."""
    for node, name, value in named_seeds(scope.facts, program).importable:
        is_wanted = number in ("", value) and node.lineno < getattr(at, "lineno", 0)
        if is_wanted and _is_free(name, scope):
            return Import(name, (also_imported(scope.facts, node, name),))
    return None


def seed_in_sight(scope: Scope, at: ast.AST, program: Program, number: str) -> str | None:
    """The name under which the file has a number already: of a constant that it imports, or of its own."""
    name, line = named_seeds(scope.facts, program).in_sight.get(number) or ("", 0)
    is_above = bool(name) and line < getattr(at, "lineno", 0)
    return name if is_above and scope.binding_scope(name) in (None, scope.facts.scope) else None


class NamedSeeds(NamedTuple):
    """The constants that may be written as a seed in a file: the names of those that it has, and their lines, by their
    numbers; and of those that it may import, the statement that they would join, names and numbers."""

    in_sight: dict[str, tuple[str, int]]
    importable: list[tuple[ast.ImportFrom, str, str]]


@remembered
def named_seeds(facts: ModuleFacts, program: Program) -> NamedSeeds:
    """Those of a file; none that it may import where it is a notebook."""
    found: list[tuple[ast.ImportFrom, str, str]] = []
    for node, home in homes(facts, program) if not facts.source.cells else ():
        for name, made in home.scope.bindings.items():
            is_one = SEED_NAME.fullmatch(name) and len(made) == 1 and home.parents.get(made[0].node) is home.tree
            if is_one and is_seed(made[0].value):
                found.append((node, name, ast.unparse(made[0].value)))  # type: ignore[arg-type]
    return NamedSeeds(seed_constants(facts, program), found)


def own_seeder(
    program: Program, scope: Scope, at: ast.stmt, families: Collection[str], packages: Collection[str]
) -> tuple[Import, OwnSeeder] | None:
    """A function of the project that seeds all these families, and its name at a statement of `scope`. `packages` are
    those that the program imports: what it does not may be missing."""
    seeders = _seeders(program, families)
    known = ((_known(seeder, scope, at, program), seeder) for seeder in seeders)
    imported = ((_imported(seeder, scope, at, packages, program), seeder) for seeder in seeders)
    return next(((name, seeder) for name, seeder in chain(known, imported) if name is not None), None)


def _seeders(program: Program, families: Collection[str]) -> list[OwnSeeder]:
    """Those that seed all these families; first what the project calls anywhere."""
    paths = sorted(program.project.text.containing("manual_seed") or ())
    files = program.loaded(paths) if len(paths) <= MAX_FILES else ()
    found = (s for facts in files for s in seeders_in(facts, program))
    suited = [seeder for seeder in found if seeder.families.issuperset(families)]
    return sorted(suited, key=lambda seeder: not program.callers_of(seeder.function))


def has_idle_seeder(program: Program, scope: Scope, at: ast.stmt, families: Collection[str]) -> bool:
    """Whether the project has a function below the folder of a file that seeds all these families, and that nothing
    calls: its author has forgotten it, and knows how to import it."""
    facts = scope.facts
    if _at_once(facts, scope, at) is not None:
        return False
    others = (s.function for s in _seeders(program, families) if s.function.facts is not facts)
    files = (function for function in others if not function.name.startswith("_"))
    below = (f for f in files if f.facts.source.path.is_relative_to(facts.source.path.parent))
    return any(program.callers_of(f) == [] and not is_test(f.facts) for f in below)


def _known(seeder: OwnSeeder, scope: Scope, at: ast.stmt, program: Program) -> Import | None:
    """The function by a name that the file defines or imports above: `set_seed`, `utils.set_seed`."""
    facts, function = scope.facts, seeder.function
    for name, bound in {function.name: _starred(function, facts), **facts.scope.bindings}.items():
        node = bound[0].node if len(bound) == 1 and scope.binding_scope(name) in (facts.scope, None) else None
        is_above = isinstance(node, ast.stmt) and node.lineno < at.lineno and facts.parents.get(node) is facts.tree
        if is_above or (node is not None and function.facts is facts and scope.function.kind == "function"):
            for written in (name, f"{name}.{function.name}"):
                if program.resolve(ast.parse(written, mode="eval").body, facts.scope) is function:
                    return Import(written)
    return None


def _starred(function: Scope, facts: ModuleFacts) -> list[Binding]:
    """The import of all names of a function's file that gives it to another file."""
    module = function.facts.source.path.stem
    is_given = not function.name.startswith("_") and "__all__" not in function.facts.scope.bindings
    return [b for b in facts.star_imports if b.target.rpartition(".")[2] == module] if is_given else []


def _imported(
    seeder: OwnSeeder, scope: Scope, at: ast.stmt, packages: Collection[str], program: Program
) -> Import | None:
    """The function by its own name, where the file imports from its module already, or as a program beside it does."""
    facts, function = scope.facts, seeder.function
    if function.facts is facts or scope.binding_scope(function.name) is not None:
        return None
    for node, home in homes(facts, program):
        if home is function.facts and node.lineno < at.lineno:
            return Import(function.name, (also_imported(facts, node, function.name),))
    if function.name.startswith("_") or not _is_light(function.facts, packages, program):
        return None
    module = _as_beside(seeder, facts, program) or _as_below(seeder, facts, packages, program)
    return import_from(facts, module, function.name, scope, at) if module is not None else None


def _is_light(home: ModuleFacts, packages: Collection[str], program: Program) -> bool:
    """Whether importing a module of the project runs nothing, and needs no package that the program does not import,
    nor one that these come without."""
    is_quiet = all(isinstance(n, ONLY_BINDS) or n is home.guard or is_docstring(n) for n in home.tree.body)
    with_numpy = catalogue.table("rng")["numpy"]["imported_by"]
    brought = {"numpy"} if not set(packages).isdisjoint(with_numpy) else set()
    is_there = home.packages <= sys.stdlib_module_names | {*packages, *brought}
    own = home.source.path
    return is_quiet and is_there and not program.project.reachable(own) - {own}


def _as_beside(seeder: OwnSeeder, facts: ModuleFacts, program: Program) -> str | None:
    """The module from which a program in the same folder imports the function."""
    name, own, folder = seeder.function.name, seeder.function.facts.source.path, facts.source.path.parent
    naming = sorted(program.project.text.mentioning(name) or ())
    for other in program.loaded(path for path in naming if path.parent == folder and path != own):
        made = other.scope.bindings.get(name, ())
        if made and program.names.lookup(name, other.scope) is seeder.function:
            return made[0].target.rpartition(".")[0] if made[0].kind == "import" and not made[0].level else None
    return None


def _as_below(seeder: OwnSeeder, facts: ModuleFacts, packages: Collection[str], program: Program) -> str | None:
    """The module of the function where Python finds it from the folder of the file, in which it finds others that the
    file imports, or that is the project's own. One in a folder without `__init__.py` may be another's, installed."""
    own, folder, project = seeder.function.facts.source.path, facts.source.path.parent, program.project
    if not own.is_relative_to(folder) or facts.source.cells:
        return None
    *parents, last = own.relative_to(folder).with_suffix("").parts
    if last == "__init__" or not all(part.isidentifier() for part in (*parents, last)):
        return None
    module = ".".join((*parents, last))
    fronts = [program.load(str(folder.joinpath(*parents[: n + 1], "__init__.py"))) for n in range(len(parents))]
    if not all(front is not None and _is_light(front, packages, program) for front in fronts):
        return None
    if folder != project.root and not _imports_from(folder, facts, program):
        return None
    return module if project.finder.find(module, 0, str(facts.source.path)) == (str(own), "") else None


def _imports_from(folder: Path, facts: ModuleFacts, program: Program) -> bool:
    """Whether a file always imports a module by no more than its name from a folder on."""
    always = (b for b in facts.imports if not b.level and facts.parents.get(b.node) is facts.tree)
    for binding in always:
        found = program.project.finder.find(binding.target, 0, str(facts.source.path))
        first = folder / binding.target.partition(".")[0]
        if found is not None and (Path(found[0]) == first.with_suffix(".py") or Path(found[0]).is_relative_to(first)):
            return True
    return False
