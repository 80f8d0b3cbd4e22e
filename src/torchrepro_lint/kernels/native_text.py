"""C++ and CUDA sources as text: the functions that they define, and the names under which they hand them to Python.

Goes by brackets and names. Comments, strings and preprocessor lines are blanked first, so that places stay the same.
Macros are not expanded. Knows no kernel and no project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

_HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\(.{0,2000}?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n]){1,8}\''
    r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
    re.DOTALL | re.MULTILINE,
)
MAX_HEAD = 2_000  # characters in front of a body that are looked at
MAX_CALL = 10_000  # characters between the brackets of a call
MAX_REGISTERED = 1_000  # functions that one file hands to Python
_STOP = re.compile(r"[{};]")
_BRACKETS = {"(": ")", "{": "}"}
_TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>")
_NAME = re.compile(r"((?:\w+\s*::\s*)*~?\w+)\s*(?:<[^<>()]*>\s*)?\(")
_OWNER = re.compile(r"\b(?:class|struct)\s+(?:\w+\s+)*?(\w+)\s*(?:final\s*)?(?::[^:].*)?$", re.DOTALL)
_NO_NAME = frozenset(
    {"__launch_bounds__", "__attribute__", "__declspec", "alignas", "decltype", "requires", "noexcept"}
)
_USED = re.compile(r"\b([A-Za-z_]\w*)(?=\s*(?:\(|<|::|\.apply\b))|&\s*(?:\w+\s*::\s*)*([A-Za-z_]\w*)")
_REGISTERS = re.compile(r"\.\s*(?:def|def_static|impl|op)\s*\(")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TEXT = re.compile(r'"((?:\w+::)?\w+)')


class Function(NamedTuple):
    """A definition: its `head` from return type to parameters, its `body`, and where that begins in the text. `owner`
    is the class around it; `uses` are the names that are followed by a bracket, or whose address is taken."""

    name: str
    owner: str
    head: str
    body: str
    start: int
    uses: frozenset[str]


class Registration(NamedTuple):
    """`m.def("name", &function)`: what Python calls it, and the names of what that runs. `module` is the argument of
    the macro around it: an extension module's name, or a namespace of torch.ops where `is_operator`."""

    name: str
    module: str
    is_operator: bool
    uses: frozenset[str]


def blanked(text: str) -> str:
    """The text with spaces in place of what is no code."""
    return _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def functions(code: str) -> Iterator[Function]:
    """The functions that blanked text defines, in order; what stands inside one belongs to it."""
    owners: list[str] = []
    start = position = 0
    while (stop := _STOP.search(code, position)) is not None:
        position = stop.end()
        if stop[0] == "{":
            head = code[max(start, stop.start() - MAX_HEAD) : stop.start()]
            name = _function_name(head)
            if name:
                position = closing(code, stop.start())
                owner, _, last = name.rpartition("::")
                owner = owner.rpartition("::")[2] or next((o for o in reversed(owners) if o), "")
                body = code[stop.start() : position]
                uses = frozenset(match[1] or match[2] for match in _USED.finditer(body))
                yield Function(last, owner, head, body, stop.start(), uses)
            else:
                owners.append(_owner_name(head))
        elif stop[0] == "}" and owners:
            owners.pop()
        start = position


def registrations(text: str, code: str) -> Iterator[Registration]:
    """What the file hands to Python. `text` is as written, `code` the same blanked."""
    for function in functions(code):
        is_operator = "TORCH_LIBRARY" in function.name
        if not is_operator and function.name != "PYBIND11_MODULE":
            continue
        module = arguments(function.head, function.head.index("("))[0].strip()
        for match in islice(_REGISTERS.finditer(function.body), MAX_REGISTERED):
            opening = function.start + match.end() - 1
            end = closing(code, opening, MAX_CALL)
            name = _TEXT.search(text, opening, end)
            if name is not None:
                used = frozenset(_WORD.findall(code, name.end(), end))
                yield Registration(name[1].rpartition("::")[2], module, is_operator, used)


def closing(code: str, opening: int, longest: int | None = None) -> int:
    """The place behind the bracket that closes the one at `opening`; the end where none does."""
    left, right = code[opening], _BRACKETS[code[opening]]
    end = len(code) if longest is None else min(len(code), opening + longest)
    depth = 0
    for match in re.compile(f"[{re.escape(left + right)}]").finditer(code, opening, end):
        depth += 1 if match[0] == left else -1
        if not depth:
            return match.end()
    return end


def arguments(code: str, opening: int) -> list[str]:
    """The arguments in the brackets that open at `opening`."""
    found, depth, start = [], 0, opening + 1
    end = closing(code, opening, MAX_CALL)
    for match in re.compile(r"[()\[\]{},]").finditer(code, opening, end):
        depth += 1 if match[0] in "([{" else -1 if match[0] in ")]}" else 0
        if (match[0] == "," and depth == 1) or match.end() == end:
            found.append(code[start : match.start()])
            start = match.end()
    return found


def _function_name(head: str) -> str:
    """The name of the function whose body begins behind `head`; "" where that is something else."""
    head = _TEMPLATE.sub(" ", head)
    for match in _NAME.finditer(head):
        name = re.sub(r"\s", "", match[1])
        if name not in _NO_NAME:
            return "" if "=" in head[: match.start()] else name
    return ""


def _owner_name(head: str) -> str:
    found = _OWNER.search(_TEMPLATE.sub(" ", head))
    return found[1] if found is not None else ""
