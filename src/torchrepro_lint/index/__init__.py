"""One parsed file as facts: scopes, bindings, call sites and assignments. Knows no rules and no other file."""

from torchrepro_lint.index.build import build, chooses_item, is_main_guard
from torchrepro_lint.index.facts import (
    ITEM,
    AttributeSet,
    Binding,
    FunctionNode,
    ModuleFacts,
    ParseError,
    Scope,
    SubscriptSet,
    dotted,
    last_name,
)

__all__ = [
    "ITEM",
    "AttributeSet",
    "Binding",
    "FunctionNode",
    "ModuleFacts",
    "ParseError",
    "Scope",
    "SubscriptSet",
    "build",
    "chooses_item",
    "dotted",
    "is_main_guard",
    "last_name",
]
