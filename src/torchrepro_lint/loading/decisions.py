"""What `order` answers with, and what it says of the items that it follows."""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple, TypeAlias

from torchrepro_lint.index import ModuleFacts

# What holds the items: a list or iterator, a dict whose keys are in that order, a dict of such lists, or a record with
# such a list in one of its fields.
Holder: TypeAlias = Literal["sequence", "mapping", "lists", "record"]


class Decision(NamedTuple):
    """The place where the order decides something, and what: "its order ..."."""

    facts: ModuleFacts
    node: ast.AST
    why: str
