"""Add or change one argument of a call, keeping the user's layout."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Range

if TYPE_CHECKING:
    import libcst as cst


def with_argument(facts: ModuleFacts, call: ast.Call, name: str, value: str) -> Edit:
    """Pass `name=value` in `call`: an existing keyword gets the new value, else it is added last.

    A call laid out one argument a line gets another line; a trailing comma stays one; comments stay where they are.
    """
    for keyword in call.keywords:
        if keyword.arg == name:
            return Edit(facts.source.rel, facts.range(keyword.value), value)
    import libcst as cst

    place = facts.range(call)
    before = facts.source.slice(place)
    node = cst.parse_expression(before)
    assert isinstance(node, cst.Call)
    after = cst.Module([], default_newline=facts.source.newline).code_for_node(_appended(node, name, value))
    return _smallest(facts, place, before, after)


def _appended(call: cst.Call, name: str, value: str) -> cst.Call:
    import libcst as cst

    tight = cst.SimpleWhitespace("")
    new = cst.Arg(cst.parse_expression(value), cst.Name(name), equal=cst.AssignEqual(tight, tight))
    if not call.args:
        return call.with_changes(args=[new])
    *others, last = call.args
    between = _separator(call)
    if isinstance(last.comma, cst.Comma):  # a trailing comma, and after it what closes the call
        moved = new.with_changes(comma=_without_comment(last.comma))
        return call.with_changes(args=[*others, last.with_changes(comma=_with_comment_of(between, last.comma)), moved])
    moved = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
    return call.with_changes(args=[*others, last.with_changes(comma=between, whitespace_after_arg=tight), moved])


def _separator(call: cst.Call) -> cst.Comma:
    """A comma laid out as the others of the call are, or as its first argument stands."""
    import libcst as cst

    space: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    if len(call.args) > 1 and isinstance(call.args[-2].comma, cst.Comma):
        space = call.args[-2].comma.whitespace_after
    elif isinstance(call.args[-1].comma, cst.Comma) and isinstance(
        call.whitespace_before_args, cst.ParenthesizedWhitespace
    ):
        space = call.whitespace_before_args
    if isinstance(space, cst.SimpleWhitespace) and not space.value:
        space = cst.SimpleWhitespace(" ")
    return _without_comment(cst.Comma(whitespace_after=space))


def _without_comment(comma: cst.Comma) -> cst.Comma:
    """The layout of `comma`, without a comment that belongs to its argument."""
    import libcst as cst

    space = comma.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return comma
    line = cst.TrailingWhitespace(newline=space.first_line.newline)
    return comma.with_changes(whitespace_after=space.with_changes(first_line=line, empty_lines=[]))


def _with_comment_of(comma: cst.Comma, own: cst.Comma) -> cst.Comma:
    """The layout of `comma`, with the comment that follows `own`."""
    import libcst as cst

    space, kept = comma.whitespace_after, own.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(kept, cst.ParenthesizedWhitespace):
        return comma.with_changes(whitespace_after=space.with_changes(first_line=kept.first_line))
    return comma


def _smallest(facts: ModuleFacts, place: Range, before: str, after: str) -> Edit:
    """The edit without what `before` and `after` share at both ends."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    start = facts.source.offset(place.start)
    changed = Range(facts.source.position(start + head), facts.source.position(start + len(before) - tail))
    return Edit(facts.source.rel, changed, after[head : len(after) - tail])
