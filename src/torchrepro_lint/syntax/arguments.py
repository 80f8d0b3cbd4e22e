"""Add or change one argument of a call, keeping the user's layout."""

from __future__ import annotations

import ast

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Range


def with_argument(facts: ModuleFacts, call: ast.Call, name: str, value: str) -> Edit:
    """Pass `name=value` in `call`: an existing keyword gets the new value, else it is added last.

    A call laid out one argument a line gets another line; a trailing comma stays one.
    """
    import libcst as cst

    for keyword in call.keywords:
        if keyword.arg == name:
            return Edit(facts.source.rel, facts.range(keyword.value), value)
    place = facts.range(call)
    before = facts.source.slice(place)
    node = cst.parse_expression(before)
    assert isinstance(node, cst.Call)
    after = cst.Module([]).code_for_node(_appended(node, name, value))
    return _smallest(facts, place, before, after)


def _appended(call, name: str, value: str):  # type: ignore[no-untyped-def]
    import libcst as cst

    new = cst.Arg(
        keyword=cst.Name(name),
        value=cst.parse_expression(value),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    args = list(call.args)
    if not args:
        return call.with_changes(args=[new])
    last = args[-1]
    if isinstance(last.comma, cst.Comma):  # a trailing comma: what follows it closes the call
        between = args[-2].comma if len(args) > 1 and isinstance(args[-2].comma, cst.Comma) else None
        spaced = between or (
            last.comma
            if "\n" not in cst.Module([]).code_for_node(last.comma)
            else cst.Comma(whitespace_after=call.whitespace_before_args)
        )
        if isinstance(spaced.whitespace_after, cst.SimpleWhitespace) and not spaced.whitespace_after.value:
            spaced = spaced.with_changes(whitespace_after=cst.SimpleWhitespace(" "))
        args[-1] = last.with_changes(comma=_without_comment(spaced, last.comma))
        return call.with_changes(args=[*args, new.with_changes(comma=last.comma)])
    return call.with_changes(args=[*_separated(args), new.with_changes(whitespace_after_arg=last.whitespace_after_arg)])


def _separated(args):  # type: ignore[no-untyped-def]
    """Give the last of `args`, which has no comma, the one that the others have."""
    import libcst as cst

    usual = args[-2].comma if len(args) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    plain = _without_comment(usual, None)
    return [*args[:-1], args[-1].with_changes(comma=plain, whitespace_after_arg=cst.SimpleWhitespace(""))]


def _without_comment(comma, own):  # type: ignore[no-untyped-def]
    """The layout of `comma` without a comment that belongs to its argument; `own`'s comment is kept."""
    import libcst as cst

    def first_line(c):  # type: ignore[no-untyped-def]
        space = c.whitespace_after if c is not None else None
        return space.first_line if isinstance(space, cst.ParenthesizedWhitespace) else None

    if not isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace):
        return comma
    kept = first_line(own)
    line = kept if kept is not None else cst.TrailingWhitespace(newline=first_line(comma).newline)
    return comma.with_changes(
        whitespace_after=comma.whitespace_after.with_changes(first_line=line, empty_lines=[])
    )


def _smallest(facts: ModuleFacts, place: Range, before: str, after: str) -> Edit:
    """The edit without what `before` and `after` share at both ends."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    start = facts.source.offset(place.start)
    changed = Range(
        facts.source.position(start + head), facts.source.position(start + len(before) - tail)
    )
    return Edit(facts.source.rel, changed, after[head : len(after) - tail])
