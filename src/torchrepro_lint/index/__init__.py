"""One parsed file as facts: scopes, bindings, call sites and assignments; and what is asked of its tree. Knows no rules
and no other file."""

from torchrepro_lint.index.build import build, chooses_item, is_main_guard, readable
from torchrepro_lint.index.facts import (
    ITEM,
    AttributeSet,
    Binding,
    Comprehension,
    FunctionNode,
    LoopNode,
    ModuleFacts,
    ParseError,
    Scope,
    SubscriptSet,
    arguments_of,
    dotted,
    keyword_value,
    last_name,
)
from torchrepro_lint.index.parents import Parents, calls_in, children, descendants, names_in, walk

__all__ = [
    "ITEM",
    "AttributeSet",
    "Binding",
    "Comprehension",
    "FunctionNode",
    "LoopNode",
    "ModuleFacts",
    "Parents",
    "ParseError",
    "Scope",
    "SubscriptSet",
    "arguments_of",
    "build",
    "calls_in",
    "children",
    "chooses_item",
    "descendants",
    "dotted",
    "is_main_guard",
    "keyword_value",
    "last_name",
    "names_in",
    "readable",
    "walk",
]
