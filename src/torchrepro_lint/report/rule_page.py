"""A rule's card as a person reads it in a terminal.

Knows the Markdown that cards use: paragraphs, lists, links, emphasis and fenced blocks. Reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchrepro_lint.cards import Card
from torchrepro_lint.report.terminal import Paint

_FENCE = re.compile(r"(`{3,})(.*)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(r"`[^`]*`|\*\*(\S[^*]*)\*\*|\[([^\]]+)\]\((https?://[^)\s]+)\)")  # code, strong, link
_ITEM = re.compile(r"( *)([-*]|\d+\.) +(.*)")
_KINDS = {"bad": "Reported", "fixed": "After the fix", "good": "Not reported"}
_FIXES = {"safe": "safe fix", "unsafe": "unsafe fix", "none": "no fix"}
WIDEST = 100
INDENT = "  "


def render_page(card: Card, *, color: bool, width: int, measured: Sequence[str] = ()) -> str:
    """The whole page, ending in a newline; `measured` are paragraphs for a section of their own."""
    paint = Paint(color)
    columns = min(width, WIDEST)
    parts = [*header(card, columns, paint)]
    for heading, text in card.sections().items():
        lines = [INDENT + line if line.strip() else line for line in _section(text, columns - len(INDENT), paint)]
        if heading == "References":
            lines += [f"{INDENT}{url}\n" for url in card.references if url not in text]
        if lines:
            parts += ["\n", paint("strong", heading) + "\n", *lines]
    if measured:
        told = "\n".join(f"- {text}" for text in measured)
        lines = [INDENT + line for line in _section(told, columns - len(INDENT), paint) if line]
        parts += ["\n", paint("strong", "Measured") + "\n", *lines]
    return "".join(parts)


def header(card: Card, columns: int, paint: Paint) -> Iterator[str]:
    """What stands above a rule's page: its code, name and summary, and how it reports."""
    yield f"{paint(card.level, card.code)} {paint('strong', card.name)}\n"
    yield from _paragraph(card.summary, columns)
    yield "\n" + ", ".join(_facts(card)) + "\n"


def prose(text: str, columns: int) -> Iterator[str]:
    """A paragraph of Markdown in lines."""
    return _paragraph(_INLINE.sub(_plain, text), columns)


def _facts(card: Card) -> Iterator[str]:
    yield f"{card.level.value} ({card.certainty.value})"
    yield _FIXES[card.fix]
    yield f"since {card.since}"
    if not card.default:
        yield "off unless selected"


def _section(text: str, width: int, paint: Paint) -> Iterator[str]:
    lines = iter(_COMMENT.sub("", text).split("\n"))
    prose: list[str] = []
    gap = ""  # what separates this block from the one before
    for line in lines:
        fence = _FENCE.fullmatch(line)
        if fence is None and line.strip():
            prose.append(line)
            continue
        if prose:
            yield from [gap, *_prose(prose, width)]
            prose, gap = [], "\n"
        if fence is not None:
            yield from [gap, *_code(lines, fence[1], fence[2].split(), paint)]
            gap = "\n"
    if prose:
        yield from [gap, *_prose(prose, width)]


def _code(lines: Iterator[str], fence: str, info: list[str], paint: Paint) -> Iterator[str]:
    label = _label(info)
    if label:
        yield paint("note", label) + "\n"
    for line in lines:
        if line.rstrip() == fence:
            return
        yield f"    {line}".rstrip() + "\n"


def _label(info: list[str]) -> str:
    """`Reported, in train.py, with torch 2.5:`; nothing for a block that is no example."""
    if len(info) < 2 or info[1] not in _KINDS:
        return ""
    values = dict(item.partition("=")[::2] for item in info[2:])
    label = _KINDS[info[1]]
    label += f", in {values['file']}" if "file" in values else ""
    label += f", with torch {values['torch']}" if "torch" in values else ""
    return label + (", with --unsafe-fixes" if "unsafe" in values and info[1] == "fixed" else "") + ":"


def _prose(lines: list[str], width: int) -> Iterator[str]:
    """A paragraph or a list, wrapped; what follows an item indented belongs to it."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        item = _ITEM.fullmatch(line)
        if item:
            items.append((f"{item[1]}{item[2]} ", [item[3]]))
        elif items:
            items[-1][1].append(line.strip())
        else:
            items.append(("", [line.strip()]))
    for bullet, words in items:
        yield from _paragraph(_INLINE.sub(_plain, " ".join(words)), width, bullet)


def _plain(found: re.Match[str]) -> str:
    code, strong, text, address = found.group(0, 1, 2, 3)
    return strong or (f"{text} ({address})" if address else code)


def _paragraph(text: str, width: int, bullet: str = "") -> Iterator[str]:
    import textwrap

    wrapped = textwrap.wrap(
        text,
        width,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (row + "\n" for row in wrapped)
