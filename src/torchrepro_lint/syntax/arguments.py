"""Add or change one argument of a call, keeping the user's layout."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchrepro_lint.formatter import NO_STYLE, Style
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.source import SourceFile
from torchrepro_lint.syntax.breaking import within

if TYPE_CHECKING:
    import libcst as cst

# How long lines may grow where no formatter says: as they are, in a file that is long enough to tell, within bounds.
_NARROWEST, _USUAL, _WIDEST = 79, 100, 120
_FORMATTED = 88  # by black or ruff, where no settings say otherwise
_TELLING = 60
_CLOSED = re.compile(r"(?:\s*\))*")  # brackets around an argument are no part of it
_COMMA = re.compile(r"\s*,(\s*)")
_BRACKET = re.compile(r"\s*\((\s*)")
_INTRICATE = re.compile(r"[#\\\r\f]")  # in a call that may have comments, or lines that end otherwise than by a newline
_ON_THREE_LINES = re.compile(r"(.*[([{])\n\s*(.*[^,\s])\n\s*([)\]}].*)")  # without a comma that keeps them apart
_VALUE = "_value_of_the_new_argument_"
_MAGIC = re.compile(r"\s*pass;|[^=]*= {5,}")  # what stands for `%time f()` and `x = %time f()`


def with_argument(facts: ModuleFacts, call: ast.Call, name: str, value: str, style: Style = NO_STYLE) -> Edit:
    """Pass `name=value` in `call`: an existing keyword gets the new value, else it is added last, before `**`.

    A call laid out one argument a line gets another line, as does one whose line would grow too long; a trailing
    comma stays one; comments stay where they are.
    """
    for keyword in call.keywords:
        if keyword.arg == name:
            return Edit(facts.source.rel, facts.range(keyword.value), value)
    try:
        return _within_width(facts, call, _laid_out(facts, call, name, value), style)
    except RecursionError:  # libcst takes a few calls for each level of nesting
        return _behind_last(facts, call, f"{name}={value}")


def _laid_out(facts: ModuleFacts, call: ast.Call, name: str, value: str) -> Edit:
    """The argument added as the others are laid out: once for calls that are written alike, whatever its value."""
    source, place = facts.source, facts.range(call)
    begin, end = source.offset(place.start), source.offset(place.end)
    before = source.text[begin:end]
    known: dict[tuple[str, str], tuple[str, str, str] | None] = facts.with_arguments
    key = before, name
    if key not in known:
        after = _plainly(facts, call, before, name, _VALUE)
        after = _by_libcst(facts, before, name, _VALUE) if after is None else after
        known[key] = after.partition(_VALUE) if after is not None else None
    around = known[key]
    if around is None:
        return _behind_last(facts, call, f"{name}={value}")
    head, tail, text = _difference(before, f"{around[0]}{value}{around[2]}")
    return Edit(source.rel, Range(source.position(begin + head), source.position(end - tail)), text)


def _by_libcst(facts: ModuleFacts, before: str, name: str, value: str) -> str | None:
    """The same for any call; None for one that is not written in one piece."""
    import libcst as cst  # which takes longer to import than to lint a file: most calls do without

    try:
        node = cst.parse_expression(before)
    except cst.ParserSyntaxError:  # a line ends before the bracket, within brackets that are not part of the call
        return None
    assert isinstance(node, cst.Call)
    return cst.Module([], default_newline=facts.source.newline).code_for_node(_appended(node, name, value))


def _plainly(facts: ModuleFacts, call: ast.Call, text: str, name: str, value: str) -> str | None:
    """The text of a call with the argument added; None for one with comments, or whose callee is split."""
    arguments, begin = _arguments(facts, call), facts.source.offset(facts.range(call).start)
    callee = facts.source.offset(facts.range(call.func).end) - begin
    if _INTRICATE.search(text) or "\n" in text[:callee] or facts.source.newline != "\n":
        return None
    if not arguments:
        return f"{text[:callee]}({name}={value})" if text[callee:] == "()" else None
    if any(isinstance(argument, ast.GeneratorExp) for argument in arguments):
        return None
    starts = [facts.source.offset(facts.range(argument).start) - begin for argument in arguments]
    ends = [_behind_brackets(text, facts.source.offset(facts.range(a).end) - begin) for a in arguments]
    space = _space_between(text, callee, ends)
    if space is None:
        return None
    named = [
        start + len(a.arg) for a, start in zip(arguments, starts, strict=True) if isinstance(a, ast.keyword) and a.arg
    ]
    blank = " " if named and all(text[place].isspace() for place in named) else ""
    keywords = [a for a in arguments if isinstance(a, ast.keyword) and a.arg]
    names = [(str(a.arg), len(text[end:]) - len(text[end:].lstrip())) for a, end in zip(keywords, named, strict=True)]
    new, count = f"{_aligned(name, names) or name + blank}={blank}{value}", len(arguments)
    while count and isinstance(arguments[count - 1], ast.keyword) and text.startswith("**", starts[count - 1]):
        count -= 1
    if count < len(arguments):  # `**options` stay the last
        head = text[: starts[count]]
        glue = "" if not count or head[-1].isspace() else " "
        return f"{head}{glue}{new},{space}{text[starts[count] :]}"
    trailing = _COMMA.match(text, ends[-1])
    rest = f"{text[ends[-1] : trailing.start(1)]}{_without_blank_lines(trailing[1])}" if trailing is not None else ""
    return f"{text[: ends[-1]]},{space}{new}{rest}{text[trailing.end() if trailing is not None else ends[-1] :]}"


def _aligned(name: str, others: Sequence[tuple[str, int]]) -> str:
    """A name with blanks up to the column of the `=` behind other names, each with so many blanks, where that is one
    for names of several lengths."""
    widths = {len(other) + blanks for other, blanks in others}
    is_aligned = len(widths) == 1 and len({len(other) for other, _ in others}) > 1
    return f"{name:<{max(len(name) + 1, *widths)}}" if is_aligned else ""


def _behind_brackets(text: str, end: int) -> int:
    """Behind the brackets around what ends there."""
    found = _CLOSED.match(text, end, len(text) - 1)
    return found.end() if found is not None else end


def _space_between(text: str, callee: int, ends: Sequence[int]) -> str | None:
    """What follows the comma between the last two arguments of a call, or lays out a single one with a comma; None
    where that cannot be told. `callee` is where that ends."""
    found: re.Match[str] | None = None
    if len(ends) > 1:
        found = _COMMA.match(text, ends[-2])
        if found is None:
            return None
    elif _COMMA.match(text, ends[-1]) is not None:
        found = _BRACKET.match(text, callee)
        if found is None:
            return None
        if "\n" not in found[1]:
            return " "
    return (_without_blank_lines(found[1]) if found is not None else "") or " "


def _without_blank_lines(space: str) -> str:
    return f"\n{space.rpartition(chr(10))[2]}" if "\n" in space else space


def _behind_last(facts: ModuleFacts, call: ast.Call, text: str) -> Edit:
    """The argument right behind the last one, or before the last `**`."""
    source = facts.source
    end = source.offset(facts.range(call).end)
    places = [facts.range(argument) for argument in (*call.args, *call.keywords)]
    last = max(places, key=lambda place: place.start, default=None)
    if last is None:
        return _insertion(facts, end - 1, text)
    if last.start in [facts.range(keyword).start for keyword in call.keywords if keyword.arg is None]:
        return _insertion(facts, source.offset(last.start), f"{text}, ")
    brackets = _CLOSED.match(source.text, source.offset(last.end), end - 1)
    return _insertion(facts, brackets.end() if brackets else source.offset(last.end), f", {text}")


def _insertion(facts: ModuleFacts, offset: int, text: str) -> Edit:
    place = facts.source.position(offset)
    return Edit(facts.source.rel, Range(place, place), text)


def _appended(call: cst.Call, name: str, value: str) -> cst.Call:
    import libcst as cst

    tight = cst.SimpleWhitespace("")
    equals = [a.equal for a in call.args if isinstance(a.equal, cst.AssignEqual)]  # as most are written here
    spaced = bool(equals) and all(e.whitespace_before.empty is False for e in equals)
    blank = cst.SimpleWhitespace(" ") if spaced else tight
    written = [
        (a.keyword.value, a.equal.whitespace_before)
        for a in call.args
        if isinstance(a.equal, cst.AssignEqual) and a.keyword
    ]
    aligned = _aligned(name, [(n, len(w.value)) for n, w in written if isinstance(w, cst.SimpleWhitespace)])
    before = cst.SimpleWhitespace(aligned[len(name) :]) if aligned else blank
    new = cst.Arg(cst.parse_expression(value), cst.Name(name), equal=cst.AssignEqual(before, blank))
    if not call.args:
        return call.with_changes(args=[new])
    between = _separator(call)
    doubled = next((i for i, a in enumerate(call.args) if all(b.star == "**" for b in call.args[i:])), len(call.args))
    if doubled < len(call.args):
        head = list(call.args[:doubled])
        if head and isinstance(head[-1].comma, cst.Comma):
            head[-1] = head[-1].with_changes(comma=_spaced(head[-1].comma))
        return call.with_changes(args=[*head, new.with_changes(comma=between), *call.args[doubled:]])
    *others, last = call.args
    if isinstance(last.comma, cst.Comma):  # a trailing comma, and after it what closes the call
        moved = new.with_changes(comma=_without_comment(last.comma, is_last=True))
        return call.with_changes(args=[*others, last.with_changes(comma=_with_comment_of(between, last.comma)), moved])
    moved = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
    return call.with_changes(args=[*others, last.with_changes(comma=between, whitespace_after_arg=tight), moved])


def _separator(call: cst.Call) -> cst.Comma:
    """A comma laid out as the others of the call, or as its first argument is placed."""
    import libcst as cst

    space: cst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
    if len(call.args) > 1 and isinstance(call.args[-2].comma, cst.Comma):
        space = call.args[-2].comma.whitespace_after
    elif isinstance(call.args[-1].comma, cst.Comma) and isinstance(
        call.whitespace_before_args, cst.ParenthesizedWhitespace
    ):
        space = call.whitespace_before_args
    return _without_comment(_spaced(cst.Comma(whitespace_after=space)))


def _spaced(comma: cst.Comma) -> cst.Comma:
    """With a blank after it, if there is nothing."""
    import libcst as cst

    space = comma.whitespace_after
    if isinstance(space, cst.SimpleWhitespace) and not space.value:
        return comma.with_changes(whitespace_after=cst.SimpleWhitespace(" "))
    return comma


def _without_comment(comma: cst.Comma, *, is_last: bool = False) -> cst.Comma:
    """The layout of `comma`, without a comment on the line of its argument; those on lines below stay the last."""
    import libcst as cst

    space = comma.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return comma
    line = cst.TrailingWhitespace(newline=space.first_line.newline)
    kept = [below for below in space.empty_lines if is_last and below.comment is not None]
    return comma.with_changes(whitespace_after=space.with_changes(first_line=line, empty_lines=kept))


def _with_comment_of(comma: cst.Comma, own: cst.Comma) -> cst.Comma:
    """The layout of `comma`, with the comment that follows `own`."""
    import libcst as cst

    space, kept = comma.whitespace_after, own.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(kept, cst.ParenthesizedWhitespace):
        return comma.with_changes(whitespace_after=space.with_changes(first_line=kept.first_line))
    return comma


def _difference(before: str, after: str) -> tuple[int, int, str]:
    """The lengths of the common prefix and suffix of two texts, and what stands between them in the second."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    return head, tail, after[head : len(after) - tail]


# -- the width of a line --------------------------------------------------------------------------------------


def _within_width(facts: ModuleFacts, call: ast.Call, edit: Edit, style: Style) -> Edit:
    """The edit with the new argument on a line of its own, where the line it is on would grow too long."""
    source, (start, end) = facts.source, edit.range
    if start == end and "\n" in edit.text:
        return _below_comment(facts, call, edit)
    if start != end or not (call.args or call.keywords) or _is_on_one_line(facts, call):
        return edit
    line = source.line(start.line)
    head, tail = line[: start.column - 1], line[start.column - 1 :]
    own = edit.text.removeprefix(", ")
    width = style.width or _width(source)
    if len(head) + len(edit.text) + len(tail) <= width:
        return edit
    if (style.hangs or source.hangs) and (last := _ends_value(facts, call)) is not None:
        at_last = within(facts, call, [edit], width)[0] if last is not call else edit
        first = at_last.text.partition(source.newline)[0]
        if at_last is not edit and at_last.range.start.column - 1 + len(first) <= width:
            return at_last  # broken at the last bracket
        return _hanging(facts, call, last, edit.text.strip(", "), width)
    whole = facts.statement(call)
    if isinstance(getattr(whole, "value", None), ast.IfExp) and len(line) <= width:
        broken = within(facts, call, [edit], width)
        if broken != (edit,):
            return broken[0]
    before = _before_argument(facts, call)
    if len(before) + len(own) + len(tail) > width:
        return edit
    indent = _as_blanks(before)
    if _stands_apart(facts, call):
        return _one_a_line(facts, call, edit.text.strip(", "))
    if own != edit.text:
        return _below_comment(facts, call, Edit(source.rel, edit.range, f",{source.newline}{indent}{own}"))
    if head.endswith(", "):
        return Edit(source.rel, Range(Position(start.line, start.column - 1), end), f"{source.newline}{indent}{own}")
    return edit


def _below_comment(facts: ModuleFacts, call: ast.Call, edit: Edit) -> Edit:
    """A new line for an argument, below a comment that stands behind the last one, or behind that and the bracket: it
    is about that."""
    source, start = facts.source, edit.range.start
    line = source.line(start.line)
    closing, mark, comment = line[start.column - 1 :].partition("#")
    if not mark or call.lineno == call.end_lineno or not edit.text.startswith(","):
        return edit
    to_end = Range(start, Position(start.line, len(line) + 1))
    if not closing.strip():
        return Edit(source.rel, to_end, f",{closing}#{comment}{edit.text[1:]}")
    if closing.strip() != ")":
        return edit
    blank = closing.strip("\r\n")[1:]
    return Edit(source.rel, to_end, f",{blank}#{comment}{edit.text[1:]})")


def is_within_width(facts: ModuleFacts, edit: Edit, style: Style = NO_STYLE) -> bool:
    """Whether an edit makes no line longer than lines of the file may be, or than those that it changes have been."""
    source, (start, end) = facts.source, edit.range
    first, last = source.line(start.line), source.line(end.line)
    text = first[: start.column - 1] + edit.text + last[end.column - 1 :]
    return max(map(len, text.splitlines())) <= max(style.width or _width(source), len(first), len(last))


def kept_within_width(facts: ModuleFacts, node: ast.expr, edits: Sequence[Edit], style: Style) -> tuple[Edit, ...]:
    """Edits within an expression, which is broken over several lines where its line would grow longer than a formatter
    lets it; where none says, than most do, unless a line beside it is."""
    first, last = facts.statement(node).lineno, facts.statement(node).end_lineno or 0
    beside = (n for n in (first - 1, last + 1) if 0 < n <= len(facts.source.line_starts))
    if not style.width and any(len(facts.source.line(n)) > _WIDEST for n in beside):
        return tuple(edits)
    return within(facts, node, edits, style.width or _WIDEST)


def _stands_apart(facts: ModuleFacts, call: ast.Call) -> bool:
    """Whether all arguments are on one line, with both parentheses on others."""
    arguments = _arguments(facts, call)
    if (call.func.end_lineno or 0) >= arguments[0].lineno:
        return False
    first, last, end = facts.range(arguments[0]).start, facts.range(arguments[-1]).end, facts.range(call).end
    before, after = facts.source.line(first.line)[: first.column - 1], facts.source.line(last.line)[last.column - 1 :]
    alone = not before.strip() and after.strip() in ("", ",") and first.line == last.line
    return alone and end.line == last.line + 1


def _arguments(facts: ModuleFacts, call: ast.Call) -> list[ast.expr | ast.keyword]:
    """All arguments as written, in order."""
    facts.range(call)  # which puts places right
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(arguments, key=lambda a: (a.lineno, a.col_offset))


def _one_a_line(facts: ModuleFacts, call: ast.Call, new: str) -> Edit:
    """Every argument on a line of its own with a comma, as formatters do; the new one last, before `**`."""
    source, arguments = facts.source, _arguments(facts, call)
    start, end = facts.range(arguments[0]).start, facts.range(arguments[-1]).end
    comma = source.line(end.line)[end.column - 1 :].find(",") + 1
    between = f",{source.newline}{_as_blanks(_before_argument(facts, call))}"
    texts = between.join(_with_new(facts, call, new))
    return Edit(source.rel, Range(start, Position(end.line, end.column + comma)), f"{texts},")


def _with_new(facts: ModuleFacts, call: ast.Call, new: str) -> list[str]:
    """The arguments as written, with the new one last, before `**`."""
    arguments = _arguments(facts, call)
    doubled = sum(isinstance(a, ast.keyword) and a.arg is None for a in arguments)
    texts = [facts.text(a) for a in arguments]
    return [*texts[: len(texts) - doubled], new, *texts[len(texts) - doubled :]]


def _ends_value(facts: ModuleFacts, call: ast.Call) -> ast.expr | None:
    """What a statement assigns, returns or runs, where a call on one line, with its arguments right within the
    parentheses, is all of that, or begins it: `Model(width).fit(data)`."""
    last: ast.expr = call
    while isinstance(part := facts.parents.get(last), ast.Attribute | ast.Call) and last in (
        getattr(part, "value", None),
        getattr(part, "func", None),
    ):
        last = part
    parent = facts.parents.get(last)
    if not isinstance(parent, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return) or parent.value is not last:
        return None
    if call.end_lineno != call.lineno:
        return None
    first, final = facts.range(_arguments(facts, call)[0]), facts.range(_arguments(facts, call)[-1])
    line, end = facts.source.line(call.lineno), facts.range(call).end
    begins = line[facts.range(call.func).end.column - 1 : first.start.column - 1].strip() == "("
    is_within = begins and line[final.end.column - 1 : end.column - 1].strip() in (")", ",)")
    return last if is_within else None


def _hanging(facts: ModuleFacts, call: ast.Call, last: ast.expr, new: str, width: int) -> Edit:
    """All arguments on a line of their own, or each on one where they are too long for that, as formatters do; the new
    one last, before `**`. What follows the call, up to the end of `last`, goes on the line of its bracket if it can."""
    source, texts = facts.source, _with_new(facts, call, new)
    line = source.line(call.lineno)
    outer = line[: len(line) - len(line.lstrip())]
    inner = f"{outer}\t" if outer.endswith("\t") else f"{outer}    "
    together = f"{inner}{', '.join(texts)}"
    lines = [together] if len(together) <= width else [f"{inner}{text}," for text in texts]
    start, end = facts.range(call.func).end, facts.range(call).end
    text = source.newline.join(["(", *lines, f"{outer})"])
    following = source.text[source.offset(end) : source.offset(facts.range(last).end)]
    parts = _ON_THREE_LINES.fullmatch(following)
    joined = "".join(parts.groups()) if parts is not None else ""
    if joined and len(outer) + 1 + len(joined) <= width and not _INTRICATE.search(following):
        return Edit(source.rel, Range(start, facts.range(last).end), text + joined)
    return Edit(source.rel, Range(start, end), text)


def _width(source: SourceFile) -> int:
    longest = source.longest_line
    is_telling = len(source.line_starts) > _TELLING  # the last of these is empty
    if longest > _FORMATTED and is_telling and source.hangs and source.longest_plain_line <= _FORMATTED:
        return _FORMATTED
    return max(longest if is_telling else _USUAL, _NARROWEST) if longest < _WIDEST else _WIDEST


def _is_on_one_line(facts: ModuleFacts, call: ast.Call) -> bool:
    """Whether the call must stay on its line: in an f-string, or in a cell as what a magic is to run."""
    if facts.source.cells and _MAGIC.match(facts.source.line(call.lineno)):
        return True
    return any(isinstance(a, ast.JoinedStr) for a in facts.ancestors(call))


def _before_argument(facts: ModuleFacts, call: ast.Call) -> str:
    """What is before the last argument that begins a line; where none does, before the first."""
    arguments = _arguments(facts, call)
    places = [facts.range(a).start for a in arguments if a.lineno > call.lineno or a is arguments[0]]
    before = [facts.source.line(place.line)[: place.column - 1] for place in places]
    return next((text for text in reversed(before) if not text.strip()), before[0])


def _as_blanks(text: str) -> str:
    return re.sub(r"\S", " ", text)
