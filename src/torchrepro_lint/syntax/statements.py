"""Insert, replace, wrap and remove whole statements and expressions, in the file's own indentation."""

from __future__ import annotations

import ast
import re
from collections import Counter

from torchrepro_lint.formatter import Style
from torchrepro_lint.index import FunctionNode, ModuleFacts
from torchrepro_lint.model import Edit, Position, Range

_IMPORTS = ast.Import | ast.ImportFrom
_RULE = re.compile(r"#\s*([-=*#~_+])\1{5,}\s*#*")
_CELL_MARK = re.compile(r"\s*#\s*(?:%%|In\[)")
_MARKUP = re.compile(r"#\s*(?:\.\. \w|[-=~*]{4,}\s*$)")  # reStructuredText: sphinx-gallery.github.io/stable/syntax.html


def replace(facts: ModuleFacts, node: ast.AST, text: str) -> Edit:
    """Replace `node` by `text`."""
    return Edit(facts.source.rel, facts.range(node), text)


def wrap(facts: ModuleFacts, node: ast.expr, before: str, after: str) -> tuple[Edit, Edit]:
    """Put text before and after an expression, e.g. `sorted(` and `)`."""
    place = facts.range(node)
    start, end = Range(place.start, place.start), Range(place.end, place.end)
    return Edit(facts.source.rel, start, before), Edit(facts.source.rel, end, after)


def insert_before(facts: ModuleFacts, statement: ast.stmt, *lines: str, below_comments: bool = False) -> Edit:
    """Put statements on lines of their own above `statement`, its decorators and the comments that belong to it, or
    below these.

    Where the statement shares its line with others, they go before it on that line, with semicolons.
    """
    anchor = (getattr(statement, "decorator_list", None) or [statement])[0]
    place = facts.range(anchor).start
    indent = facts.source.line(place.line)[: place.column - 1]
    if anchor is not statement:
        place = Position(place.line, indent.rfind("@") + 1)
        indent = indent[: place.column - 1]
    if indent.strip("\ufeff \t\f"):
        return Edit(facts.source.rel, Range(place, place), "".join(f"{line}; " for line in lines))
    newline = facts.source.newline
    if not below_comments:
        place = Position(_below_no_heading(facts, top_line(facts, statement), indent), place.column)
    first, *others = [*lines, None]
    text = "".join(newline if line == "" else f"{newline}{indent}{line or ''}" for line in others)
    if not first:  # an empty line has no indentation
        place, text = Position(place.line, 1), text.removesuffix(indent)
    return Edit(facts.source.rel, Range(place, place), f"{first}{text}")


def insert_at(facts: ModuleFacts, line: int, statement: ast.stmt, *lines: str) -> Edit:
    """Put statements on lines of their own above a line, indented as a statement is; the last one is left out where
    it is empty and a blank line stands there."""
    indent = facts.source.line(statement.lineno)[: facts.range(statement).start.column - 1]
    if lines[-1] == "" and not facts.source.line(line).strip():
        lines = lines[:-1]
    text = "".join(f"{indent if written else ''}{written}{facts.source.newline}" for written in lines)
    return Edit(facts.source.rel, Range(Position(line, 1), Position(line, 1)), text)


def insert_after(facts: ModuleFacts, statement: ast.stmt, *lines: str) -> Edit:
    """Put statements on lines of their own below `statement`, or after it on its line where that goes on."""
    start, end = facts.range(statement)
    indent = facts.source.line(start.line)[: start.column - 1]
    whole = facts.source.line(end.line)
    rest = whole[end.column - 1 :].lstrip()
    if indent.strip("\ufeff \t\f") or (rest and not rest.startswith("#")):
        return Edit(facts.source.rel, Range(end, end), "".join(f"; {line}" for line in lines))
    place = Position(end.line, len(whole) + 1)
    known = {n: line for line in lines if (n := _commented_out(facts, statement, line)) is not None}
    text = "".join(f"{facts.source.newline}{indent}{line}" for line in lines if line not in known.values())
    if not known:
        return Edit(facts.source.rel, Range(place, place), text)
    first = Position(min(known), start.column)
    kept = [known.get(n, facts.source.line(n)[start.column - 1 :]) for n in range(first.line, end.line + 1)]
    return Edit(facts.source.rel, Range(first, place), f"{facts.source.newline}{indent}".join(kept) + text)


def _commented_out(facts: ModuleFacts, statement: ast.stmt, line: str) -> int | None:
    """Where the very statement to be put below a call stands commented out, with nothing but calls in between."""
    block: list[ast.stmt] = getattr(facts.parents[statement], "body", [])
    calls = {n.lineno for n in block if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)}
    calls &= {n.end_lineno for n in block}
    number = statement.lineno
    while number in calls or facts.source.line(number).startswith("#", statement.col_offset):
        if facts.source.line(number)[statement.col_offset :].lstrip("# ") == line and number not in calls:
            return number
        if number == 1 or begins_cell(facts, number):
            break
        number -= 1
    return None


def insert_first(facts: ModuleFacts, owner: ast.stmt, *lines: str) -> Edit:
    """Put statements at the top of the body of a function, loop or `if`, below a docstring and imports."""
    body: list[ast.stmt] = owner.body  # type: ignore[attr-defined]
    has_docstring = isinstance(owner, FunctionNode) and is_docstring(body[0])
    heads = [n for i, n in enumerate(body) if (i == 0 and has_docstring) or _leads(body, i)]
    if len(heads) == len(body):
        return insert_after(facts, heads[-1], *lines)
    follows = body[len(heads)]
    top = top_line(facts, follows)
    is_headed = top < follows.lineno and not facts.source.line(top - 1).strip()  # by a comment below a blank line
    return insert_before(facts, follows, *lines, *[""] * is_headed)


def _leads(body: list[ast.stmt], index: int) -> bool:
    """Whether the statement is one of the imports at the top of `body`."""
    return all(isinstance(n, _IMPORTS) or (i == 0 and is_docstring(n)) for i, n in enumerate(body[: index + 1]))


def quoted(facts: ModuleFacts, text: str, style: Style) -> str:
    """A string as the formatter writes it; where none says, as the file writes most of them."""
    single = facts.source.text.count("'") > facts.source.text.count('"')
    quote = style.quote or ("'" if single else '"')
    return f"{quote}{text}{quote}"


def indentation(facts: ModuleFacts) -> str:
    """One level of it, as most bodies in the file have."""
    bodies = ((node, getattr(node, "body", ())) for node in facts.tree.body)
    firsts = [body[0] for node, body in bodies if body and body[0].lineno > node.lineno]
    found = Counter(facts.source.line(first.lineno)[: facts.range(first).start.column - 1] for first in firsts)
    return found.most_common(1)[0][0] if found else "    "


def top_line(facts: ModuleFacts, statement: ast.stmt) -> int:
    """The first line of a statement with its decorators and the comments right above it.

    A comment that heads the file or marks a cell belongs to nothing, nor does the text of a gallery, and no cell of a
    notebook reaches into another.
    """
    anchor: ast.expr | ast.stmt = (getattr(statement, "decorator_list", None) or [statement])[0]
    source, first = facts.source, anchor.lineno
    indent = source.line(statement.lineno)[: facts.range(statement).start.column - 1]
    cells = {line for line, _ in source.cells}
    line = first
    while line > 1 and line not in cells and source.line(line - 1).startswith(f"{indent}#"):
        line -= 1
        if _CELL_MARK.match(source.line(line)):
            is_text = any(_MARKUP.match(source.line(n)) for n in range(line + 1, first))
            is_framed = all(_RULE.fullmatch(source.line(n).strip()) for n in (line - 1, line + 1))
            return first if is_text else line + 1 + is_framed
    return first if line == 1 and not source.cells else line


def _below_no_heading(facts: ModuleFacts, top: int, indent: str) -> int:
    """The first line of the heading between two rules of signs that stands above a line, if one does; else the line."""
    source, line = facts.source, top
    while line > 1 and not begins_cell(facts, line) and not source.line(line - 1).strip():
        line -= 1
    last = line - 1
    while line > 1 and not begins_cell(facts, line) and source.line(line - 1).startswith(f"{indent}#"):
        line -= 1
    is_heading = line < last and all(_RULE.fullmatch(source.line(n).strip()) for n in (line, last))
    return line if is_heading and line > 1 and last < top - 1 else top


def begins_cell(facts: ModuleFacts, line: int) -> bool:
    """Whether a line is the first of a cell, of a notebook or marked in a script."""
    source = facts.source
    return any(first == line for first, _ in source.cells) or (
        line > 1 and _CELL_MARK.match(source.line(line - 1)) is not None
    )


def remove(facts: ModuleFacts, node: ast.stmt) -> Edit:
    """Remove a statement, and its line when nothing else is on it."""
    place = facts.range(node)
    before = facts.source.line(place.start.line)[: place.start.column - 1]
    after = facts.source.line(place.end.line)[place.end.column - 1 :]
    if before.strip() or after.strip():
        return Edit(facts.source.rel, place, "pass")
    starts = facts.source.line_starts
    if place.end.line >= len(starts):
        return Edit(facts.source.rel, Range(Position(place.start.line, 1), place.end), "")
    return Edit(facts.source.rel, Range(Position(place.start.line, 1), Position(place.end.line + 1, 1)), "")


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is a string alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
