"""How a fix seeds through a function that the project has for this: called where it is known, else imported from where
the file imports already, or as a program beside it does.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection
from itertools import chain
from pathlib import Path

from torchrepro_lint.checks.worker_seeding import homes
from torchrepro_lint.dataflow import Program
from torchrepro_lint.index import Binding, ModuleFacts, Scope
from torchrepro_lint.rng.own_seeders import OwnSeeder, seeders_in
from torchrepro_lint.syntax import Import, also_imported, import_from, is_docstring

MAX_FILES = 20  # of a project that seed
_HARMLESS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


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
    module = Path(function.facts.source.path).stem
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
    module = _as_beside(seeder, facts, packages, program)
    return import_from(facts, module, function.name, scope, at) if module is not None else None


def _as_beside(seeder: OwnSeeder, facts: ModuleFacts, packages: Collection[str], program: Program) -> str | None:
    """The module from which a program in the same folder imports the function, where that runs nothing and needs no
    package that this program does not import."""
    home, name = seeder.function.facts, seeder.function.name
    own, folder = Path(home.source.path), Path(facts.source.path).parent
    is_quiet = all(isinstance(n, _HARMLESS) or n is home.guard or is_docstring(n) for n in home.tree.body)
    if (
        not is_quiet
        or not home.packages <= sys.stdlib_module_names | {*packages}
        or program.project.reachable(own) - {own}
    ):
        return None
    naming = sorted(program.project.text.mentioning(name) or ())
    for other in program.loaded(path for path in naming if path.parent == folder and path != own):
        made = other.scope.bindings.get(name, ())
        if made and program.names.lookup(name, other.scope) is seeder.function:
            return made[0].target.rpartition(".")[0] if made[0].kind == "import" and not made[0].level else None
    return None
