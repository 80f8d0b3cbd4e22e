"""How a fix gives an argument of a call a value, where it is left out or written as a literal. What is set elsewhere is
for a person to decide: then there are no edits."""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow import Call, Site
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Range
from torchrepro_lint.syntax import replace, with_argument


def passing(call: Call, name: str, text: str, position: int | None = None) -> tuple[Edit, ...]:
    """Pass `name=text`, or put the text in the place of what is written."""
    given = call.argument(name, position)
    if given is None:
        return (with_argument(call.facts, call.node, name, text, call.program.project.style),)
    return in_place(call, given, text)


def as_first(call: Call, given: object, text: str) -> tuple[Edit, ...]:
    """The same for the first argument: without its name, where the call has no other."""
    if given is None and not call.node.args and not call.node.keywords:
        return (first_argument(call.facts, call.node, text),)
    return in_place(call, given, text)


def in_place(call: Call, given: object, text: str) -> tuple[Edit, ...]:
    """Put a text in the place of a literal, the value of an argument, that is written in the file of the call."""
    if not isinstance(given, Site) or not isinstance(given.node, ast.Constant) or given.scope.facts is not call.facts:
        return ()
    return (replace(call.facts, given.node, text),)


def first_argument(facts: ModuleFacts, call: ast.Call, text: str) -> Edit:
    """Put `text` between the empty parentheses of `call`, before a comment that stands there."""
    source = facts.source
    opening = source.text.index("(", source.offset(facts.range(call.func).end)) + 1
    closing = source.offset(facts.range(call).end) - 1
    end = opening if source.text[opening:closing].strip() else closing
    return Edit(source.rel, Range(source.position(opening), source.position(end)), text)
