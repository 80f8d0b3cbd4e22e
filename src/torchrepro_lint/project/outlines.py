"""What importing a file runs: its imports, and whether anything at its top level can seed, draw or configure.

Most files of a library only define things. To know that is enough for the seeding walk to pass them by.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope

_CONFIGURES = ("seed", "cudnn", "determinis", "add_argument")


class Outline(NamedTuple):
    """`imports` are (name, level) in order; a file that is not `active` has no other effect when it is imported."""

    imports: tuple[tuple[str, int], ...]
    active: bool


def outline_of(facts: ModuleFacts) -> Outline:
    """The outline of a file."""
    at_top = {node for node, _ in facts.scope.runs}  # also within an `if`, a `try` or a class
    imports = tuple((b.target, b.level) for b in facts.imports if b.node in at_top)
    text = facts.source.text.lower()
    active = any(word in text for word in _CONFIGURES) or _runs_something(facts)
    return Outline(imports, active)


def outline_from(row: Any) -> Outline | None:
    """The same as JSON gives it back."""
    if row is None:
        return None
    imports, active = row
    return Outline(tuple((str(name), int(level)) for name, level in imports), bool(active))


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
