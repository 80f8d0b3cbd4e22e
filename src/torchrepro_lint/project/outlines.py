"""What importing a file runs: its imports, and whether anything at its top level can seed, draw or configure.

Most files of a library only define things. To know that is enough for the seeding walk to pass them by.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts, Scope

_CONFIGURES = ("seed", "cudnn", "determinis", "add_argument")


class Outline(NamedTuple):
    """`imports` are (name, level) in order, and so are those `called`; a file that is not `active` has no other effect
    when it is imported than what these calls have."""

    imports: tuple[tuple[str, int], ...]
    active: bool
    called: tuple[tuple[str, int], ...] = ()


def outline_of(facts: ModuleFacts) -> Outline:
    """The outline of a file."""
    at_top = {node for node, _ in facts.scope.runs}  # also within an `if`, a `try` or a class
    imports = tuple((b.target, b.level) for b in facts.imports if b.node in at_top)
    text = facts.source.text.lower()
    called = None if any(word in text for word in _CONFIGURES) else _called_at_top(facts)
    return Outline(imports, called is None, called or ())


def outline_from(row: Any) -> Outline | None:
    """The same as JSON gives it back."""
    if row is None:
        return None
    imports, active, called = row
    return Outline(_names(imports), bool(active), _names(called))


def _names(rows: Any) -> tuple[tuple[str, int], ...]:
    return tuple((str(name), int(level)) for name, level in rows)


def _called_at_top(facts: ModuleFacts) -> tuple[tuple[str, int], ...] | None:
    """What is imported and called outside of functions, decorators for instance; None where a call there can draw, or
    enters code of the file itself."""
    own = facts.scope.bindings
    found: dict[tuple[str, int], None] = {}
    for name, sites in facts.calls.items():
        bindings = own.get(name, ())
        matters = _draws(name) or (bindings and bindings[-1].kind in ("function", "class", "import"))
        if not matters or not any(_outside_functions(scope) for _, scope in sites):
            continue
        if _draws(name) or any(b.kind != "import" for b in bindings):
            return None
        found |= dict.fromkeys((b.target, b.level) for b in bindings)
    return tuple(found)


def _outside_functions(scope: Scope) -> bool:
    while scope.kind in ("class", "comprehension") and scope.parent is not None:
        scope = scope.parent
    return scope.kind == "module"


@cache
def _draws(name: str) -> bool:
    """Whether a call that is written with this name may be one that draws or seeds."""
    return name in _drawing_names() or re.fullmatch(catalogue.table("frameworks")["fresh"]["model"], name) is not None


@cache
def _drawing_names() -> frozenset[str]:
    tables = [*catalogue.names("rng", "draws"), *catalogue.names("rng", "methods"), *catalogue.names("rng", "seeders")]
    return frozenset(name.rpartition(".")[2] for name in tables)
