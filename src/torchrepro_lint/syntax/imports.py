"""How to name an imported thing in a file: an existing import is reused, else one is placed with the others."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.model import Edit, Position, Range


@dataclass(frozen=True, slots=True)
class Import:
    """`text` names the imported thing; `edits` bring the import that it needs, if any."""

    text: str
    edits: tuple[Edit, ...] = ()


def import_module(facts: ModuleFacts, module: str, scope: Scope | None = None) -> Import:
    """A way to write `module` at `scope`: the alias it has in this file, or a new `import module`."""
    root = module.partition(".")[0]
    for name, bindings in facts.scope.bindings.items():
        for binding in bindings:
            if binding.kind == "import" and not binding.level and _at_top(facts, binding.node):
                if binding.target == module and _visible(name, facts, scope):
                    return Import(name)
                if name == root == binding.target and isinstance(binding.node, ast.Import) and module != root:
                    if any(a.name == module for a in binding.node.names) and _visible(name, facts, scope):
                        return Import(module)
    if not _visible(root, facts, scope):  # the name is taken by something else here
        taken = f"_{root}"
        return Import(taken, (_new_import(facts, f"import {module} as {taken}"),))
    return Import(module, (_new_import(facts, f"import {module}"),))


def import_name(facts: ModuleFacts, name: str, scope: Scope | None = None) -> Import:
    """A way to write the dotted external `name`: bound by a from-import here, or through its module."""
    for bound, bindings in facts.scope.bindings.items():
        if len(bindings) == 1 and bindings[0].kind == "import" and bindings[0].target == name:
            if not bindings[0].level and _at_top(facts, bindings[0].node) and _visible(bound, facts, scope):
                return Import(bound)
    module, _, last = name.rpartition(".")
    found = import_module(facts, module, scope)
    return Import(f"{found.text}.{last}", found.edits)


def _visible(name: str, facts: ModuleFacts, scope: Scope | None) -> bool:
    """Whether `name` means the module's own binding (or nothing yet) at `scope`."""
    owner = (scope or facts.scope).binding_scope(name)
    if owner is None:
        return True
    return owner is facts.scope and all(b.kind == "import" for b in owner.bindings[name])


def _at_top(facts: ModuleFacts, node: ast.AST) -> bool:
    return node in facts.tree.body


def _new_import(facts: ModuleFacts, line: str) -> Edit:
    """Place a plain import: before the first import that sorts after it among those at the top, else below them."""
    imports = [n for n in facts.tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    plain = [n for n in imports if not (isinstance(n, ast.ImportFrom) and n.module == "__future__")]
    newline = facts.source.newline
    if plain:
        first = plain[0]
        block = _block(facts.tree.body, first)
        after = [n for n in block if _key(n) > line.split()[1].lower()]
        if after and isinstance(after[0], ast.Import):
            at = Position(after[0].lineno, 1)
            return Edit(facts.source.rel, Range(at, at), line + newline)
        return _below(facts, block[-1], line)
    anchors = [n for n in facts.tree.body if n in imports or _is_docstring(n, facts)]
    if anchors:
        return _below(facts, anchors[-1], line, blank=not imports)
    at = Position(facts.tree.body[0].lineno if facts.tree.body else 1, 1)
    decorators = getattr(facts.tree.body[0], "decorator_list", None) if facts.tree.body else None
    if decorators:
        at = Position(decorators[0].lineno, 1)
    return Edit(facts.source.rel, Range(at, at), line + newline + newline)


def _block(body: list[ast.stmt], first: ast.stmt) -> list[ast.stmt]:
    """The run of plain imports that `first` begins, up to the next other statement."""
    start = body.index(first)
    block: list[ast.stmt] = []
    for node in body[start:]:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        block.append(node)
    return block


def _key(node: ast.stmt) -> str:
    if isinstance(node, ast.Import):
        return node.names[0].name.lower()
    return ""


def _below(facts: ModuleFacts, node: ast.stmt, line: str, *, blank: bool = False) -> Edit:
    newline = facts.source.newline
    end = facts.range(node).end
    rest = facts.source.line(end.line)[end.column - 1 :]
    if rest.strip() and not rest.lstrip().startswith("#"):  # `import a; x = 1`
        return Edit(facts.source.rel, Range(end, end), f"; {line}")
    at = Position(end.line, len(facts.source.line(end.line)) + 1)
    return Edit(facts.source.rel, Range(at, at), f"{newline}{newline if blank else ''}{line}")


def _is_docstring(node: ast.stmt, facts: ModuleFacts) -> bool:
    return (
        node is facts.tree.body[0]
        and isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
