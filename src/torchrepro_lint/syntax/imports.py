"""How to name an imported thing in a file: an existing import is reused, else one is placed with the others."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.model import Edit, Position, Range

USUAL_ALIASES = {"numpy": "np"}


class Import(NamedTuple):
    """`text` names the imported thing; `edits` bring the import that it needs, if any."""

    text: str
    edits: tuple[Edit, ...] = ()


def import_module(facts: ModuleFacts, module: str, scope: Scope | None = None) -> Import:
    """A way to write `module` at `scope`: through a name it has in this file, or a new import."""
    return _bound(facts, module, scope) or _imported(facts, module, scope)


def import_name(facts: ModuleFacts, name: str, scope: Scope | None = None) -> Import:
    """A way to write the dotted external `name`: `default_rng`, `np.random.seed`, or with a new import."""
    found = _bound(facts, name, scope)
    if found is not None:
        return found
    package = name.partition(".")[0]
    new = _imported(facts, package, scope)
    return Import(new.text + name[len(package) :], new.edits)


def _bound(facts: ModuleFacts, name: str, scope: Scope | None) -> Import | None:
    """`name` through the longest leading part of it that an import at the top of the file binds."""
    imported = {
        binding.target: bound
        for bound, bindings in reversed(facts.scope.bindings.items())
        for binding in bindings
        if binding.kind == "import" and not binding.level and binding.node in facts.tree.body
        if _visible(bound, facts, scope)
    }
    prefix = name
    while prefix:
        if prefix in imported:
            return Import(imported[prefix] + name[len(prefix) :])
        prefix = prefix.rpartition(".")[0]
    return None


def _visible(name: str, facts: ModuleFacts, scope: Scope | None) -> bool:
    """Whether `name` means the module's own import, or nothing yet, at `scope`."""
    owner = (scope or facts.scope).binding_scope(name)
    if owner is None:
        return True
    return owner is facts.scope and all(b.kind == "import" for b in owner.bindings[name])


def _imported(facts: ModuleFacts, module: str, scope: Scope | None) -> Import:
    """A new import of `module`, under a name that is free at `scope`."""
    alias = USUAL_ALIASES.get(module, module)
    for name in (alias, f"_{alias}"):
        owner = (scope or facts.scope).binding_scope(name)
        if owner is None and name not in facts.scope.bindings:
            line = f"import {module}" if name == module else f"import {module} as {name}"
            return Import(name, (_new_import(facts, line),))
    return Import(f"__import__({module!r})")


def _new_import(facts: ModuleFacts, line: str) -> Edit:
    """Place a plain import in order among those at the top, or below the docstring and `__future__` imports."""
    body = facts.tree.body
    newline = facts.source.newline
    block = _first_block(body)
    if block:
        after = next((n for n in block if isinstance(n, ast.Import) and _key(n) > line.split()[1].lower()), None)
        if after is not None:
            at = Position(after.lineno, 1)
            return Edit(facts.source.rel, Range(at, at), line + newline)
        return _below(facts, block[-1], line)
    heads = [n for n in body if _is_future(n) or (n is body[0] and _is_docstring(n))]
    if heads:
        return _below(facts, heads[-1], line, blank=True)
    first = (getattr(body[0], "decorator_list", None) or [body[0]])[0].lineno if body else 1
    at = Position(first, 1)
    return Edit(facts.source.rel, Range(at, at), line + newline + newline)


def _first_block(body: list[ast.stmt]) -> list[ast.stmt]:
    """The first run of imports, without those from `__future__`."""
    block: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom) and not _is_future(node):
            block.append(node)
        elif block:
            break
    return block


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _key(node: ast.Import) -> str:
    return node.names[0].name.lower()


def _below(facts: ModuleFacts, node: ast.stmt, line: str, *, blank: bool = False) -> Edit:
    newline = facts.source.newline
    end = facts.range(node).end
    whole = facts.source.line(end.line)
    rest = whole[end.column - 1 :].lstrip()
    if rest and not rest.startswith("#"):  # `import a; x = 1`
        return Edit(facts.source.rel, Range(end, end), f"; {line}")
    at = Position(end.line, len(whole) + 1)
    return Edit(facts.source.rel, Range(at, at), f"{newline}{newline if blank else ''}{line}")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
