"""How a fix seeds through a function that the project has for this: called where it is known, else imported from where
the file imports already, or as a program beside it does.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from torchrepro_lint.checks.worker_seeding import homes
from torchrepro_lint.rng.own_seeders import OwnSeeder, seeders_in
from torchrepro_lint.syntax import Import, also_imported, import_from, is_docstring

if TYPE_CHECKING:
    from torchrepro_lint.dataflow.program import Program
    from torchrepro_lint.index import ModuleFacts, Scope

MAX_FILES = 20  # of a project that seed
_HARMLESS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class SeederCall(NamedTuple):
    """The name of the function with the edits that it needs; with `has_default` it need not be given a seed."""

    name: Import
    has_default: bool


def own_seeder(
    program: Program, scope: Scope, at: ast.stmt, families: Collection[str], packages: Collection[str]
) -> SeederCall | None:
    """The call of a function of the project that seeds all these families, at a statement of `scope`. `packages` are
    those that the program imports: what it does not may be missing."""
    for seeder in _seeders(program, families):
        name = next(_names(seeder, scope, at, packages, program), None)
        if name is not None:
            return SeederCall(name, seeder.has_default)
    return None


def _seeders(program: Program, families: Collection[str]) -> list[OwnSeeder]:
    paths = sorted(program.project.text.containing("manual_seed") or ())
    files = (program.load(str(path)) for path in paths) if len(paths) <= MAX_FILES else ()
    found = (s for facts in files if facts is not None for s in seeders_in(facts, program))
    return [seeder for seeder in found if seeder.families.issuperset(families)]


def _names(
    seeder: OwnSeeder, scope: Scope, at: ast.stmt, packages: Collection[str], program: Program
) -> Iterator[Import]:
    facts, function = scope.facts, seeder.function
    if function.facts is facts:
        if scope.binding_scope(function.name) is facts.scope and _is_defined(function, scope, at):
            yield Import(function.name)
        return
    for name, bound in facts.scope.bindings.items():
        is_import = len(bound) == 1 and bound[0].kind == "import" and facts.parents.get(bound[0].node) is facts.tree
        if is_import and scope.binding_scope(name) is facts.scope and bound[0].node.lineno < at.lineno:  # type: ignore[attr-defined]
            if program.names.lookup(name, facts.scope) is function:
                yield Import(name)
            elif not isinstance(bound[0].node, ast.ImportFrom):
                written = ast.parse(f"{name}.{function.name}", mode="eval").body
                if program.resolve(written, facts.scope) is function:
                    yield Import(f"{name}.{function.name}")
    if scope.binding_scope(function.name) is not None:
        return
    for node, home in homes(facts, program):
        if home is function.facts and node.lineno < at.lineno:
            yield Import(function.name, (also_imported(facts, node, function.name),))
    module = _as_beside(seeder, facts, packages, program)
    if module is not None:
        yield import_from(facts, module, function.name, scope, at)


def _is_defined(function: Scope, scope: Scope, at: ast.stmt) -> bool:
    return scope.function.kind == "function" or function.node.lineno < at.lineno  # type: ignore[attr-defined]


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
        if other is not None and program.names.lookup(name, other.scope) is seeder.function:
            return next((n.module for n in other.tree.body if _imports(n, name)), None)
    return None


def _imports(node: ast.stmt, name: str) -> TypeGuard[ast.ImportFrom]:
    match node:
        case ast.ImportFrom(names=names, level=0):
            return any((alias.name, alias.asname) == (name, None) for alias in names)
    return False
