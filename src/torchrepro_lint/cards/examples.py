"""The programs in a card: which fenced blocks make one program, and what each promises.

Knows the tags of fenced blocks and the `# TRP201` marks; does not check or run a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from torchrepro_lint.cards.form import FENCE, CardError

Kind = Literal["bad", "fixed", "good"]

NEXT = "<!-- next -->"
_MARK = re.compile(r"[ \t]*#[ \t]*(TRP\d{3}(?:[ \t]*,[ \t]*TRP\d{3})*)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mark:
    """A line of an example that carries `# TRP201`: that finding must be reported there."""

    file: str
    line: int
    code: str


@dataclass(frozen=True, slots=True)
class Example:
    """One program of a card. `line` is that of the card's first fence; `torch` is a --torch-version.

    A `fixed` example belongs to the `bad` one before it and holds the files that the fix changes.
    """

    kind: Kind
    files: tuple[tuple[str, str], ...]
    torch: str | None
    unsafe: bool
    line: int

    def marks(self) -> tuple[Mark, ...]:
        """The findings that the example promises, by file, line and code."""
        return tuple(
            Mark(name, text.count("\n", 0, match.start(1)) + 1, code.strip())
            for name, text in self.files
            for match in _MARK.finditer(text)
            for code in match[1].split(",")
        )

    def sources(self) -> tuple[tuple[str, str], ...]:
        """The files without their marks: what is checked."""
        return tuple((name, _MARK.sub("", text)) for name, text in self.files)


@dataclass(frozen=True, slots=True)
class _Block:
    """A fenced block that is an example's file; `line` is that of its fence."""

    kind: Kind
    name: str | None
    torch: str | None
    unsafe: bool
    text: str
    line: int


def examples(path: Path, first_line: int, body: str) -> Iterator[Example]:
    """The programs in a card's body, whose first line is number `first_line` of the file."""
    group: list[_Block] = []
    for item in _blocks(path, first_line, body):
        if group and (item is None or item.kind != group[0].kind or not (item.name and group[0].name)):
            yield _example(path, group)
            group = []
        if item is not None:
            group.append(item)
    if group:
        yield _example(path, group)


def _example(path: Path, group: Sequence[_Block]) -> Example:
    names = [block.name or "train.py" for block in group]
    for position, name in enumerate(names):
        if name in names[:position]:
            problem = f"{name} comes twice in one program; {NEXT} on a line of its own starts another"
            raise CardError(path, group[position].line, problem)
    torch = {block.torch for block in group if block.torch}
    if len(torch) > 1:
        raise CardError(path, group[0].line, f"one program, torch={' and torch='.join(sorted(torch))}")
    return Example(
        kind=group[0].kind,
        files=tuple(zip(names, (block.text for block in group), strict=True)),
        torch=torch.pop() if torch else None,
        unsafe=any(block.unsafe for block in group),
        line=group[0].line,
    )


def _blocks(path: Path, first_line: int, body: str) -> Iterator[_Block | None]:
    """Each example block in order; None where a program ends (a heading, or the line that says so)."""
    lines = iter(enumerate(body.split("\n"), first_line))
    for number, line in lines:
        fence = re.fullmatch(FENCE, line)
        if fence is None:
            if line.startswith("## ") or line.strip() == NEXT:
                yield None
            continue
        content: list[str] = []
        for _, inner in lines:
            if inner.rstrip() == fence[1]:
                break
            content.append(inner + "\n")
        else:
            raise CardError(path, number, "the fenced block is not closed")
        block = _block(path, number, fence[2].split(), "".join(content))
        if block is not None:
            yield block


def _block(path: Path, line: int, info: Sequence[str], text: str) -> _Block | None:
    if len(info) < 2:
        return None  # a shell command or a traceback in the prose
    language, kind, *attributes = info
    if kind not in ("bad", "fixed", "good"):
        raise CardError(path, line, f"{kind!r} is none of bad, fixed, good")
    values: dict[str, str] = {}
    for attribute in attributes:
        key, equals, value = attribute.partition("=")
        if attribute != "unsafe" and not (key in ("file", "torch") and equals and value):
            raise CardError(path, line, f"{attribute!r} is none of file=..., torch=..., unsafe")
        values[key] = value
    if language != "python" and "file" not in values:
        raise CardError(path, line, f"a {language} file of an example needs file=...")
    name, torch = values.get("file"), values.get("torch")
    return _Block(cast(Kind, kind), name, torch, "unsafe" in values, text, line)
