"""One parsed file as facts: scopes, bindings, call sites and assignments. Knows no rules and no other file."""

from torchrepro_lint.index.build import ParseError, build
from torchrepro_lint.index.facts import AttributeSet, Binding, ModuleFacts, Scope, SubscriptSet, dotted

__all__ = ["AttributeSet", "Binding", "ModuleFacts", "ParseError", "Scope", "SubscriptSet", "build", "dotted"]
