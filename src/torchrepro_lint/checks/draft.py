"""What a check yields. The engine completes it with what the rule's card says: name, level, message, fix title."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from torchrepro_lint.elements import Certainty, Level, Property
from torchrepro_lint.index import ModuleFacts

if TYPE_CHECKING:
    from torchrepro_lint.model import Edit, Related


Edits: TypeAlias = "tuple[Edit, ...] | Callable[[], tuple[Edit, ...]]"
"""The edits of a fix; or what makes them, all in the file that is checked, where that takes long: most reports tell
only that there is a fix, and how safe it is."""


def made(edits: Edits) -> tuple[Edit, ...]:
    """The edits themselves."""
    return edits if isinstance(edits, tuple) else edits()


class Place(NamedTuple):
    """Another place that a finding is based on, and what happens there ("seeded here")."""

    facts: ModuleFacts
    node: ast.AST
    message: str


class Fix(NamedTuple):
    """Edits; `unsafe` where they may do more than their card says, or a person has to decide."""

    edits: Edits = ()
    unsafe: bool = False


class Draft(NamedTuple):
    """A finding at `node`. A compound statement is shown by its header line only.

    `depends` is what only the run decides, as clauses (`indices repeat`): such a finding is a note. `values` fill the
    placeholders of the card's message, or of its `[messages]` entry named `message`. What is None here is as the card
    says. `edits` are the fix; `unsafe` marks one that the card's own safety does not cover.
    With `written_at`, an entry of a configuration file, the finding lies there, and `node` is where it is used.
    What is `related` and not in a Python file is given as reports show it.
    """

    node: ast.AST
    values: Mapping[str, str] = MappingProxyType({})
    message: str | None = None
    level: Level | None = None
    certainty: Certainty | None = None
    depends: tuple[str, ...] = ()
    properties: Mapping[str, Property] = MappingProxyType({})
    related: tuple[Place | Related, ...] = ()
    edits: Edits = ()
    fix_title: str | None = None
    unsafe: bool = False
    written_at: Place | None = None
