"""How a fix seeds through a function that the project has for this: called where it is known, else imported from where
the file imports already, or as a program beside it does.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.checks.worker_seeding import homes
from torchrepro_lint.rng.own_seeders import OwnSeeder, seeders_in
from torchrepro_lint.syntax import Import, also_imported, import_from, is_docstring

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.program import Program
    from torchrepro_lint.index import ModuleFacts, Scope

MAX_FILES = 20  # of a project that seed
_HARMLESS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def own_seeder(
    program: Program, scope: Scope, at: ast.stmt, families: Collection[str], packages: Collection[str]
) -> tuple[Import, OwnSeeder] | None:
    """A function of the project that seeds all these families, and its name at a statement of `scope`. `packages` are
    those that the program imports: what it does not may be missing."""
    for seeder in _seeders(program, families):
        name = _known(seeder, scope, at, program) or _imported(seeder, scope, at, packages, program)
        if name is not None:
            return name, seeder
    return None


def _seeders(program: Program, families: Collection[str]) -> list[OwnSeeder]:
    paths = sorted(program.project.text.containing("manual_seed") or ())
    files = (program.load(str(path)) for path in paths) if len(paths) <= MAX_FILES else ()
    found = (s for facts in files if facts is not None for s in seeders_in(facts, program))
    return [seeder for seeder in found if seeder.families.issuperset(families)]


def _known(seeder: OwnSeeder, scope: Scope, at: ast.stmt, program: Program) -> Import | None:
    """The function by a name that the file defines or imports above: `set_seed`, `utils.set_seed`."""
    facts, function = scope.facts, seeder.function
    for name, bound in facts.scope.bindings.items():
        node = bound[0].node
        is_above = isinstance(node, ast.stmt) and node.lineno < at.lineno and facts.parents.get(node) is facts.tree
        is_above = is_above or (function.facts is facts and scope.function.kind == "function")
        if len(bound) == 1 and is_above and scope.binding_scope(name) is facts.scope:
            for written in (name, f"{name}.{function.name}"):
                if program.resolve(ast.parse(written, mode="eval").body, facts.scope) is function:
                    return Import(written)
    return None


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
    for path in sorted(program.project.text.mentioning(name) or ()):
        other = program.load(str(path)) if Path(path).parent == folder and path != own else None
        made = other.scope.bindings.get(name, ()) if other is not None else ()
        if other is not None and made and program.names.lookup(name, other.scope) is seeder.function:
            return made[0].target.rpartition(".")[0] if made[0].kind == "import" and not made[0].level else None
    return None
