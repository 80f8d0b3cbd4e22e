"""All rules: a table for a person, and the cards as JSON for tools and documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torchrepro_lint.cards import Card
from torchrepro_lint.report.escaping import as_json
from torchrepro_lint.report.terminal import Paint

_FIXES = {"safe": "[*]", "unsafe": "[!]", "none": ""}


def render_table(cards: Iterable[Card], *, color: bool) -> str:
    """One line per rule, under the name of its group."""
    paint = Paint(color)
    rows = sorted(cards, key=lambda card: card.code)
    names = max((len(card.name) for card in rows), default=0)
    lines: list[str] = []
    group = ""
    for card in rows:
        if card.path.parent.name != group:
            group = card.path.parent.name
            lines += [
                "\n" if lines else "",
                paint("strong", group.replace("-", " ", 1).replace("-", " ")) + "\n",
            ]
        fix = f"{_FIXES[card.fix]:<3}"
        off = "" if card.default else " (off)"
        lines.append(f"  {paint(card.level, card.code)} {fix} {card.name:<{names}}  {card.summary}{off}\n")
    lines.append("\n[*] safe fix with --fix, [!] with --fix --unsafe-fixes, (off) runs only when selected.\n")
    lines.append("`torchrepro-lint rule CODE` explains a rule.\n")
    return "".join(lines)


def card_json(card: Card, measured: Sequence[str] = ()) -> dict[str, Any]:
    """A card as plain data; the sections are Markdown."""
    return {
        "code": card.code,
        "name": card.name,
        "summary": card.summary,
        "level": card.level.value,
        "certainty": card.certainty.value,
        "fix": card.fix,
        "fix_title": card.fix_title,
        "since": card.since,
        "default": card.default,
        "tags": list(card.tags),
        "message": card.message,
        "messages": dict(card.messages),
        "help": card.help,
        "help_for": dict(card.help_for),
        "references": list(card.references),
        "sections": dict(card.sections()),
        "measured": list(measured),
    }


def render_json(value: object) -> str:
    """Indented, as the findings are."""
    return as_json(value) + "\n"
