"""The paragraphs of a block of statements, which blank lines and comments part: where a new line joins one, and where
it stands apart. Knows nothing of what is written there.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from torchrepro_lint.index import ModuleFacts, calls_in, last_name, names_in, walk
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax.statements import begins_cell, insert_after, insert_at, is_docstring, top_line

_SETTINGS = re.compile(r"pars|opt(?:ion)?s?$|arg(?:ument)?s?$|param(?:eter)?s?$|conf|setting|flags", re.IGNORECASE)
_IMPORTS = ast.Import | ast.ImportFrom
_BEGINS = re.compile(r"\W*(?:build|construct|creat|initiali[sz]|load|mak|prepar|sett)ing\b", re.IGNORECASE)


def top_of_paragraph(
    facts: ModuleFacts, body: Sequence[ast.stmt], statement: ast.stmt, needed: ast.AST | None = None
) -> ast.stmt:
    """The first of the assignments that stand right above a statement, below a blank line, or a text that heads them;
    the statement itself where others stand there, the options are read, or what is `needed`. The first of a block that
    only names constants."""
    if statement not in body:
        return statement
    top = _top(facts, body, statement, needed)
    above = body[body.index(top) - 1] if top in body[2:] else None
    heads = above is not None and ((is_docstring(above) and _is_heading(above)) or _announces(above))
    return above if above is not None and heads else top


def _announces(statement: ast.stmt) -> bool:
    """Whether a statement tells what the program does next: `print("==> Preparing data..")`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Constant(value=str(text))])):
            return text.rstrip().endswith(("..", "…")) or _BEGINS.match(text) is not None
    return False


def _tells(statement: ast.stmt) -> bool:
    """Whether a statement only prints."""
    return isinstance(statement, ast.Expr) and any(
        call is statement.value and last_name(call.func) == "print" for call in calls_in(statement)
    )


def _is_heading(text: ast.stmt) -> bool:
    """Whether a text that stands by itself is in words, and no code that was put into quotes."""
    return not set("=()[]") & set(ast.unparse(text))


def _top(facts: ModuleFacts, body: Sequence[ast.stmt], statement: ast.stmt, needed: ast.AST | None) -> ast.stmt:
    index = body.index(statement)
    if needed is None and body is not facts.tree.body and all(map(_is_constant, body[:index])):
        is_code = isinstance(facts.parents[body[0]], ast.If) and not (is_docstring(body[0]) and _is_heading(body[0]))
        return body[0] if is_code or not is_docstring(body[0]) else body[1]
    while index and _continues(facts, body[index - 1], body[index]):
        if index > 1 and is_docstring(body[index - 1]):  # a string that heads what follows, as a comment would
            return body[index - 1]
        is_told = _tells(body[index - 1]) and _tells(statement)
        if not (is_told or _is_plain(body[index - 1])) or body[index - 1] is needed:
            return statement
        index -= 1
    if _begins_paragraph(facts, body[index]):
        return body[index]
    return body[0] if not index and not any(map(_reads, body[: body.index(statement)])) else statement


def _is_constant(statement: ast.stmt) -> bool:
    """Whether a statement gives a constant a name, or is a text, as code is that was put into quotes."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    is_plain = isinstance(statement, ast.Assign | ast.AnnAssign)
    return is_text or (is_plain and not any(calls_in(statement)))


def divides_paragraph(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a line above a statement would stand between calls or assignments that belong together, also with a test
    between them, or below an import or the choice of one; methods, as those of `os.environ`, what reads the options,
    and what tells how far the program is, belong to nothing."""
    body = getattr(facts.parents[statement], "body", [])
    above = body[body.index(statement) - 1] if statement in body[1:-1] else None
    if above is not None and statement.col_offset and _is_below_alternative(facts, above, statement):
        return True
    match above:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name != "print" and _continues(facts, above, statement)
        case ast.If():
            is_choice = any(isinstance(n, ast.Import | ast.ImportFrom) for n in walk(above))
            return _continues(facts, above, statement) and (is_choice or _goes_on(facts, body, statement))
        case ast.Assign() | ast.AnnAssign():
            return not _gives_settings(above) and _continues(facts, above, statement)
        case ast.Import() | ast.ImportFrom():  # which a comment heads, together with what uses it
            return top_line(facts, above) < above.lineno and _continues(facts, above, statement)
    return False


def _is_below_alternative(facts: ModuleFacts, above: ast.stmt, statement: ast.stmt) -> bool:
    """Whether code that is turned off, by a `#` at the beginning of its line, parts a statement from the one above."""
    numbers = range((above.end_lineno or 0) + 1, top_line(facts, statement))
    lines = [facts.source.line(n) for n in numbers]
    return bool(lines) and all(line.startswith("#") and _is_code(line.lstrip("# ")) for line in lines)


def _goes_on(facts: ModuleFacts, body: Sequence[ast.stmt], statement: ast.stmt) -> bool:
    """Whether a statement uses what is made further up in its paragraph, but for options."""
    index, made = body.index(statement), set[str]()
    while index and _continues(facts, body[index - 1], body[index]):
        index -= 1
        is_of_options = reads_options(body[index]) or _gives_settings(body[index])
        made |= names_in(*getattr(body[index], "targets", ())) if not is_of_options else set()
    return not made.isdisjoint(names_in(statement))


def _gives_settings(statement: ast.stmt) -> bool:
    """Whether a statement calls what gives options or settings, by its name: `get_opts()`."""
    return any(_SETTINGS.search(last_name(call.func)) for call in calls_in(statement))


def reads_options(statement: ast.stmt) -> bool:
    """Whether a statement calls what parses, by its name, or names what it calls `args`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="args" | "opt" | "opts" | "options")], value=ast.Call(args=[])):
            return True
    return any("pars" in last_name(call.func).lower() for call in calls_in(statement))


def is_below_heading(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a comment that stands alone above a statement, with a blank line below it, may head what follows: not one
    that says how else to do what stands above, in words and in code that is turned off."""
    line = top_line(facts, statement)
    above = [facts.source.line(n).strip() for n in (line - 1, line - 2, line - 3) if n > 0]
    if len(above) < 2 or above[0] or not above[1].startswith("#") or begins_cell(facts, line):
        return False
    code, words = (text.lstrip("# ") for text in (above[1], above[-1]))
    return not (len(above) > 2 and above[2].startswith("#") and _is_code(code) and not _is_code(words))


def above_heading(facts: ModuleFacts, statement: ast.stmt) -> int | None:
    """The line of the first of the comments that head a statement, which stand alone between blank lines, below others
    of the same body and cell."""
    body = getattr(facts.parents[statement], "body", [])
    if statement not in body[1:] or not is_below_heading(facts, statement):
        return None
    line, top = (body[body.index(statement) - 1].end_lineno or 0) + 1, top_line(facts, statement)
    if any(begins_cell(facts, n) for n in range(line, top)):
        return None
    while facts.source.line(line).strip():  # what is said of the statement above
        line += 1
    while not facts.source.line(line).strip():
        line += 1
    return line if line < top else None


def below_header(facts: ModuleFacts, statement: ast.stmt) -> int | None:
    """The line below the header of a block that begins with a statement, where comments of their own, which say nothing
    of it, stand between them."""
    block = facts.parents[statement]
    if not isinstance(block, ast.If | ast.FunctionDef) or block.body[0] is not statement:
        return None
    line = top = top_line(facts, statement)
    while line - 1 > block.lineno and facts.source.line(line - 1).strip()[:1] in ("", "#"):
        line -= 1
    return line if any(facts.source.line(n).strip() for n in range(line, top)) else None


def _continues(facts: ModuleFacts, above: ast.stmt, statement: ast.stmt) -> bool:
    """Whether a statement stands right below another, without a comment of its own."""
    top = top_line(facts, statement)
    is_right_below = top == (above.end_lineno or 0) + 1 and not begins_cell(facts, top)
    return is_right_below and not _is_commented(facts, top, statement)


def _is_plain(statement: ast.stmt) -> bool:
    """Whether this is an assignment that reads no options, or decides between such, or tells how far the program is, or
    that something must hold."""
    match statement:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[told])):
            return not any(isinstance(n, ast.Name) for n in walk(told))
    if isinstance(statement, ast.If):
        return all(isinstance(s, ast.ClassDef) or _is_plain(s) for s in (*statement.body, *statement.orelse))
    return isinstance(statement, ast.Assign | ast.AnnAssign) and not reads_options(statement)


def _reads(statement: ast.stmt) -> bool:
    """Whether a statement calls more than constructors, or `print`: it may be what reads options."""
    names = (last_name(call.func) for call in calls_in(statement))
    return any(not name[:1].isupper() and name != "print" for name in names)


def _begins_paragraph(facts: ModuleFacts, statement: ast.stmt) -> bool:
    top = top_line(facts, statement)
    is_below_blank = top > 1 and not facts.source.line(top - 1).strip()
    return is_below_blank or begins_cell(facts, top) or _is_commented(facts, top, statement)


def _is_commented(facts: ModuleFacts, top: int, statement: ast.stmt) -> bool:
    """Whether the comments of a statement, which begin at line `top`, are more than code that is turned off."""
    return not all(_is_code(facts.source.line(n).strip().lstrip("# ")) for n in range(top, statement.lineno))


def _is_code(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is in its strings
            body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(
        isinstance(s, ast.Assign | ast.AugAssign | _IMPORTS) or isinstance(getattr(s, "value", 0), ast.Call)
        for s in body
    )


def insert_below_alternatives(facts: ModuleFacts, statement: ast.stmt, name: str, *lines: str) -> Edit:
    """Put statements below an assignment to a name, and below the others to it that stand right below as comments:
    `# env = gym.make("Acrobot-v1")`, whichever of them is turned on."""
    first = line = (statement.end_lineno or 0) + 1
    is_alone = facts.source.line(first - 1)[facts.range(statement).end.column - 1 :].lstrip()[:1] in ("", "#")
    while is_alone and line < len(facts.source.line_starts) and _is_alternative(facts, line, statement, name):
        line += 1
    return insert_at(facts, line, statement, *lines) if line > first else insert_after(facts, statement, *lines)


def _is_alternative(facts: ModuleFacts, line: int, statement: ast.stmt, name: str) -> bool:
    indent = facts.source.line(statement.lineno)[: facts.range(statement).start.column - 1]
    text = facts.source.line(line)
    if not text.startswith(f"{indent}#") or begins_cell(facts, line):
        return False
    written = text.strip().lstrip("# ")
    return re.match(rf"{re.escape(name)}\s*=[^=]", written) is not None and _is_code(written)


def stands_apart(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a statement that begins its line has comments directly above, which belong to it, or begins a paragraph
    of several."""
    if facts.source.line(statement.lineno)[: facts.range(statement).start.column - 1].strip():
        return False
    body = getattr(facts.parents[statement], "body", [])
    is_last = bool(body) and body[-1] is statement and statement.lineno == statement.end_lineno
    top = top_line(facts, statement)
    return top < statement.lineno or begins_cell(facts, top) or (_begins_paragraph(facts, statement) and not is_last)


def joins_others(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether the comments that belong to a statement stand right below other statements of its body."""
    top = top_line(facts, statement)
    body = getattr(facts.parents[statement], "body", [])
    is_first = not body or body[0] is statement
    is_below_others = not is_first and not begins_cell(facts, top)
    return top < statement.lineno and is_below_others and bool(facts.source.line(top - 1).strip())


def is_below_check(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a statement stands right below a test, or one that something must hold."""
    body = getattr(facts.parents[statement], "body", [])
    above = body[body.index(statement) - 1] if statement in body[1:] else None
    return isinstance(above, ast.Assert | ast.If) and _continues(facts, above, statement)


def is_below_import(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a statement of the module stands right below an import."""
    body = facts.tree.body
    above = body[body.index(statement) - 1] if statement in body[1:] else None
    return isinstance(above, ast.Import | ast.ImportFrom) and _continues(facts, above, statement)
