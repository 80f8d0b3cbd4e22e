"""IPython's own lines (`%magic`, `!shell`, `help?`) as harmless Python of the same length and lines.

Every character that is kept has its line and column: a place found in the result is a place in the cell.
"""

from __future__ import annotations

import ast
import re
import warnings

from torchrepro_lint.source.lexemes import COMMENT, STRING

# Anything that could make a cell more than plain Python; most cells have none of it.
_SUSPECT = re.compile(r"(?m)^[ \t]*[%!?/,;]|\?[ \t]*$|=[ \t]*[%!]|^[ \t]*(?:pip3?|conda|mamba|cd|ls)[ \t]")
_CELL_MAGIC = re.compile(r"(?:[ \t\r\n]*[\r\n])?%%(?P<name>\w+)[^\r\n]*")
# Other cell magics hold another language, or text for a file.
_RUNS_ITS_BODY = re.compile(
    r"time|timeit|capture|debug|prun|memit|mprun|lprun|scalene|snakeviz|pyinstrument|heat|wandb|ipytest"
)
_ESCAPED = re.compile(r"[ \t]*(?P<escape>[%!?/,;])")
_ASSIGNED = re.compile(r"(?P<target>[ \t]*[^\W\d][^=!<>%'\"#]*=[ \t]*)(?P<escape>[%!])")
_HELP = re.compile(r"[ \t]*(?:%{0,2}[^\W\d][\w.*\[\]]*)\?{1,2}[ \t]*$")
_AUTOMAGIC = re.compile(r"[ \t]*(?:pip3?|conda|mamba|cd|ls)[ \t]+[\w./~$'\"-]")
_TIMING = re.compile(r"%(?:time|timeit|prun|memit|snakeviz)(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]+(?P<body>\S.*)")

_NEWLINE = re.compile(r"\r\n|\r|\n")
_VISIBLE = re.compile(r"[^\r\n]")
# What may hide or open brackets and continuations within a statement.
_TOKEN = re.compile(
    rf"{COMMENT}|{STRING}"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|\\(?:\r\n|\r|\n)"
    r"|(?P<newline>\r\n|\r|\n)"
)


def replace_magics(cell: str) -> str:
    """The cell with magics, shell lines and help requests replaced."""
    if not _SUSPECT.search(cell):
        return cell
    magic = _CELL_MAGIC.match(cell)
    if magic is not None:
        head, body = cell[: magic.end()], cell[magic.end() :]
        runs = _RUNS_ITS_BODY.fullmatch(magic["name"])
        return _blank(head) + (replace_magics(body) if runs else _blank(body))
    return _replace_statements(cell)


def _replace_statements(cell: str) -> str:
    """Look at each line that does not continue a bracket, a string or a backslash."""
    parts: list[str] = []
    at = 0
    while at < len(cell):
        stop = _end_of_command(cell, at)
        replaced = _replacement(cell[at:stop])
        if replaced is None:
            stop = _end_of_statement(cell, at)
            replaced = cell[at:stop]
        elif newline := _NEWLINE.match(cell, stop):
            replaced += newline.group()
            stop = newline.end()
        parts.append(replaced)
        at = stop
    return "".join(parts)


def _end_of_statement(cell: str, at: int) -> int:
    depth = 0
    while token := _TOKEN.search(cell, at):
        at = token.end()
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        elif token["newline"] and depth == 0:
            return at
    return len(cell)


def _end_of_command(cell: str, start: int) -> int:
    """The end of a line, its newline left out, and of those it continues on with a backslash."""
    at = start
    while newline := _NEWLINE.search(cell, at):
        if newline.start() == start or cell[newline.start() - 1] != "\\":
            return newline.start()
        at = newline.end()
    return len(cell)


def _replacement(command: str) -> str | None:
    """Python of the same shape for a line of IPython's syntax; None for a line of Python."""
    if escaped := _ESCAPED.match(command):
        return _stand_in(command, escaped.start("escape"), "pass")
    if assigned := _ASSIGNED.match(command):
        return _stand_in(command, assigned.start("escape"), "_")
    if _HELP.match(command) or (_AUTOMAGIC.match(command) and not _is_python(command)):
        return _filled(command, len(command) - len(command.lstrip()), "pass")
    return None


def _stand_in(command: str, start: int, word: str) -> str:
    """`%time f()` still calls f: its code stays in its place; nothing is kept of other magics."""
    timing = _TIMING.match(command, start)
    if timing is None or not _is_python(timing["body"]):
        return _filled(command, start, word)
    before = "pass;" if word == "pass" else ""
    return command[:start] + before.ljust(timing.start("body") - start) + command[timing.start("body") :]


def _filled(command: str, start: int, stand_in: str) -> str:
    """`stand_in`, or `_` where that is too long, then blanks for the rest of the command."""
    first = _NEWLINE.split(command[start:], maxsplit=1)[0].rstrip("\\")
    word = stand_in if len(stand_in) <= len(first) else "_"[: len(first)]
    return command[:start] + word + _blank(command[start + len(word) :])


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
