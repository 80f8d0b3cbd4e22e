"""What importing a file runs: its imports, and whether anything at its top level can seed, draw or configure.

Most files of a library only define things. To know that is enough for the seeding walk to pass them by.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope

_CONFIGURES = ("seed", "cudnn", "determinis", "add_argument")


class Outline(NamedTuple):
    """`imports` are (name, level) in order; a file that is not `active` has no other effect when it is imported."""

    imports: tuple[tuple[str, int], ...]
    active: bool


def outline_of(facts: ModuleFacts) -> Outline:
    """The outline of a file."""
    imports = tuple((b.target, b.level) for b in facts.imports if b.node in facts.tree.body or _at_top(b.node, facts))
    text = facts.source.text.lower()
    active = any(word in text for word in _CONFIGURES) or _runs_something(facts)
    return Outline(imports, active)


def _at_top(node: ast.AST, facts: ModuleFacts) -> bool:
    """Whether an import stands at the top level, though within an `if` or a `try`."""
    return any(
        node in getattr(top, field, ())
        for top in facts.tree.body
        if isinstance(top, ast.If | ast.Try)
        for field in ("body", "orelse", "finalbody")
    )


def _runs_something(facts: ModuleFacts) -> bool:
    """Whether a call outside of functions can draw, or enter code of the project."""
    drawing = _drawing_names()
    own = facts.scope.bindings
    for name, sites in facts.calls.items():
        matters = name in drawing or (name in own and own[name][-1].kind in ("function", "class", "import"))
        if matters and any(_outside_functions(scope) for _, scope in sites):
            return True
    return False


def _outside_functions(scope: Scope) -> bool:
    while scope.kind in ("class", "comprehension") and scope.parent is not None:
        scope = scope.parent
    return scope.kind == "module"


@cache
def _drawing_names() -> frozenset[str]:
    tables = [*catalogue.names("rng", "draws"), *catalogue.names("rng", "methods"), *catalogue.names("rng", "seeders")]
    return frozenset(name.rpartition(".")[2] for name in tables)
