"""How to name an imported thing in a file: an existing import is reused, else a new one is made.

Knows which names a file binds, and where; not what the imported things are for.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.index import Binding, ModuleFacts, Scope
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax.placing import also_imported, from_import, is_for_typing, new_import

USUAL_ALIASES = {"numpy": "np"}
WHOLE = frozenset({"numpy", "os", "random", "torch"})  # from these, a seeder is not imported by name


class Import(NamedTuple):
    """`text` names the imported thing; `edits` bring the import that it needs, if any."""

    text: str
    edits: tuple[Edit, ...] = ()


_HAVE_RANDOM = frozenset({"numpy", "pylab", "scipy"})  # packages with a name `random`


def import_module(facts: ModuleFacts, module: str, scope: Scope | None = None, at: ast.AST | None = None) -> Import:
    """A way to write `module` at the node `at` in `scope`: through a name it has there, or a new import."""
    where = scope or facts.scope
    return _bound(module, where, at) or _imported(facts, module, where, at)


def import_name(facts: ModuleFacts, name: str, scope: Scope | None = None, at: ast.AST | None = None) -> Import:
    """A way to write the dotted external `name`: `default_rng`, `np.random.seed`, or with a new import."""
    where = scope or facts.scope
    found = _bound(name, where, at)
    if found is not None:
        return found
    package = name.partition(".")[0]
    module, _, last = name.rpartition(".")
    sibling = from_import(facts, module, where, at) if package not in WHOLE else None
    if sibling is not None and where.binding_scope(last) is None and last not in facts.scope.bindings:
        return Import(last, (also_imported(facts, sibling, last),))
    new = _imported(facts, package, where, at)
    return Import(new.text + name[len(package) :], new.edits)


def import_from(facts: ModuleFacts, module: str, name: str, scope: Scope, at: ast.AST | None = None) -> Import:
    """A way to write `name` of `module`, imported by name where it is not yet: `from module import name`."""
    found = _bound(f"{module}.{name}", scope, at)
    if found is not None:
        return found
    if scope.binding_scope(name) is not None or name in facts.scope.bindings:
        return import_name(facts, f"{module}.{name}", scope, at)
    sibling = from_import(facts, module, scope, at)
    if sibling is not None:
        return Import(name, (also_imported(facts, sibling, name),))
    return Import(name, (new_import(facts, module, f"from {module} import {name}", scope, at),))


def _bound(name: str, scope: Scope, at: ast.AST | None) -> Import | None:
    """`name` through the longest leading part of it that an import binds here."""
    prefix = name
    while prefix:
        if names := list(_names_of(prefix, scope, at)):
            bound = names[0] if len(names) == 1 else _most_read(names, scope.facts)
            return Import(bound + name[len(prefix) :])
        prefix = prefix.rpartition(".")[0]
    return None


def _most_read(names: Sequence[str], facts: ModuleFacts) -> str:
    """The name that a file uses most."""
    reads = facts.reads(facts.tree)
    return max(names, key=lambda name: len(reads.of_name(name)))


def _names_of(target: str, scope: Scope, at: ast.AST | None) -> Iterator[str]:
    """Every name that means an external module, or a thing in one, at `at`."""
    owner: Scope | None = scope
    while owner is not None:
        for name, made in _imports(owner).get(target, ()):
            if scope.binding_scope(name) is owner and _has_run(made, owner, scope, at) and not _is_hidden(name, scope):
                yield name
        owner = owner.parent


def _imports(owner: Scope) -> dict[str, list[tuple[str, Binding]]]:
    """The names of a scope that imports bind, with the first of these, by what they stand for."""
    known: dict[Scope, dict[str, list[tuple[str, Binding]]]] = owner.facts.imported
    if owner not in known:
        known[owner] = {}
        for name, bindings in owner.bindings.items():
            made = [b for b in bindings if b.kind == "import"]
            if _is_one_thing(made, bindings) and not made[0].level:
                known[owner].setdefault(made[0].target, []).append((name, made[0]))
    return known[owner]


def _is_one_thing(made: list[Binding], bindings: list[Binding]) -> bool:
    """Whether a name is bound by imports of one thing; `None` stands for a package that is missing."""
    others = [b for b in bindings if b.kind != "import"]
    missing = all(isinstance(b.value, ast.Constant) and b.value.value is None for b in others)
    return missing and len({b.target for b in made}) == 1


def _has_run(binding: Binding, owner: Scope, scope: Scope, at: ast.AST | None) -> bool:
    """Whether an import has run at `at`: as the module begins, or further up in the same function."""
    node, facts = binding.node, owner.facts
    above = getattr(node, "end_lineno", 0) < getattr(at, "lineno", 0)
    if owner.kind != "module":
        return above and owner is scope.function and _is_in_block_of(node, at, facts)
    parent = facts.parents.get(node)
    if parent is facts.guard is not None:
        return above and scope is owner
    optional = isinstance(parent, ast.Try | ast.If | ast.ExceptHandler) and not is_for_typing(parent)
    known = isinstance(parent, ast.Module) or (optional and _is_top(parent, facts))
    return known and (above or at is None or (scope.function is not owner and not _is_in_later_cell(facts, node, at)))


def _is_in_block_of(node: ast.AST, at: ast.AST | None, facts: ModuleFacts) -> bool:
    """Whether `at` stands among the statements that an import stands among, or in one of them."""
    block = block_of(facts, node)
    return at is not None and any(n in block for n in (at, *facts.ancestors(at)))


def _is_in_later_cell(facts: ModuleFacts, node: ast.AST, at: ast.AST) -> bool:
    """Whether an import stands in a cell below that of `at`, which may run a function before that."""
    tops = [first for first, _ in facts.source.cells]
    return bisect_right(tops, getattr(node, "lineno", 0)) > bisect_right(tops, getattr(at, "lineno", 0))


def _is_top(node: ast.AST | None, facts: ModuleFacts) -> bool:
    while isinstance(node, ast.Try | ast.If | ast.ExceptHandler) and node is not facts.guard:
        node = facts.parents.get(node)
    return isinstance(node, ast.Module)


def _is_hidden(name: str, scope: Scope) -> bool:
    """Whether a star import may bind a module's name to something else: `from random import *`, which has a function
    `random`, as a part of numpy is called that."""
    stars = (star.target for star in scope.facts.star_imports if not star.level)
    return any(target == name or (name == "random" and target.partition(".")[0] in _HAVE_RANDOM) for target in stars)


def _is_free(name: str, module: str, scope: Scope) -> bool:
    """Whether nothing else has this name; the same import further down the file does no harm."""
    if _is_hidden(name, scope):
        return False
    top = scope.facts.scope
    owner = scope.binding_scope(name)
    bindings = top.bindings.get(name, [])
    is_same = all(b.kind == "import" and b.target == module and not b.level for b in bindings)
    return (owner is None or owner is top) and is_same


def _is_handed_on(name: str, scope: Scope) -> bool:
    """Whether a file has a module by its usual name from another file that imports it: `from common import torch`. A
    module of the project may be called the same: `from tools import random`."""
    top = scope.facts.scope
    made = top.bindings.get(name, []) if scope.binding_scope(name) is top else []
    is_import = (
        len(made) == 1 and made[0].kind == "import" and _is_top(scope.facts.parents.get(made[0].node), scope.facts)
    )
    package, _, last = made[0].target.rpartition(".") if is_import else ("", "", "")
    if last != name or not (made[0].level > 0 or scope.facts.is_own(package)):
        return False
    return not scope.facts.is_own(made[0].target, level=made[0].level, whole=True)


def _comes_by_star(name: str, scope: Scope, at: ast.AST | None) -> bool:
    """Whether a file reads a module by its usual name and binds that nowhere: a star import above brings it. A name
    `random` may stand for a part of numpy."""
    facts = scope.facts
    above = (star for star in facts.star_imports if getattr(star.node, "lineno", 0) < getattr(at, "lineno", 1))
    if name == "random" or next(above, None) is None or scope.binding_scope(name) is not None:
        return False
    read = facts.reads(facts.tree).of_name(name)
    return bool(read) and all(facts.scope_of(node).binding_scope(name) is None for node in read)


def _imported(facts: ModuleFacts, module: str, scope: Scope, at: ast.AST | None) -> Import:
    """A new import of `module`, under a name that is free at `scope`."""
    alias = USUAL_ALIASES.get(module, module)
    if _is_handed_on(alias, scope) or _comes_by_star(alias, scope, at):
        return Import(alias)
    for name in (alias, f"_{alias}"):
        if _is_free(name, module, scope):
            line = f"import {module}" if name == module else f"import {module} as {name}"
            return Import(name, (new_import(facts, module, line, scope, at),))
    return Import(f"__import__({module!r})")
