"""Turns what a check yields into a finding: the card gives name, level, message and fix title."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from torchrepro_lint.cards import load_card
from torchrepro_lint.checks import Draft
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Finding, Fix, Location, Position, Range, Related, Safety
from torchrepro_lint.source import SourceFile
from torchrepro_lint.suppression import Unused, removal

if TYPE_CHECKING:
    from torchrepro_lint.cards import Card


def complete(code: str, draft: Draft, facts: ModuleFacts) -> Finding:
    """The finding for a check's draft. Raises KeyError for a placeholder without a value."""
    card = load_card(code)
    template = card.messages[draft.message] if draft.message else card.message
    return Finding(
        code,
        card.name,
        draft.level or card.level,
        draft.certainty or card.certainty,
        fill(template, draft.values),
        facts.source.location(shown_range(facts, draft.node)),
        dict(draft.properties),
        tuple(Related(p.facts.source.location(shown_range(p.facts, p.node)), p.message) for p in draft.related),
        _fix(card, draft),
    )


def tool_finding(code: str, rel: str, where: Position, message: str) -> Finding:
    """A finding of the tool itself (TRP001, TRP003), at a place that may have no syntax tree."""
    card = load_card(code)
    place = Range(where, Position(where.line, where.column + 1))
    return Finding(code, card.name, card.level, card.certainty, message, Location(rel, place))


def unused_suppression(source: SourceFile, unused: Unused) -> Finding:
    """TRP002: what of this suppression silenced nothing, and the edit that takes it out."""
    card = load_card("TRP002")
    parts = [f"no rule is called {', '.join(unused.unknown)}"] if unused.unknown else []
    if unused.alone and not unused.unknown:
        parts.append("on a line of its own it belongs to no statement")
    elif unused.idle:
        parts.append(f"{', '.join(unused.idle)} silenced nothing here")
    message = fill(card.message, {"problem": "; ".join(parts) or "it silenced nothing here"})
    fix = Fix(Safety.SAFE, card.fix_title, (removal(source, unused),))
    where = source.location(unused.item.range)
    return Finding("TRP002", card.name, card.level, card.certainty, message, where, fix=fix)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The message with its `{placeholders}` filled; long or many-line values are shortened."""
    return template.format_map({k: _short(v) for k, v in values.items()})


def _short(text: str, limit: int = 240) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def shown_range(facts: ModuleFacts, node: ast.AST) -> Range:
    """The range a person is shown: all of a node, but only the first line of a compound statement."""
    if isinstance(node, ast.Module):
        first = node.body[0] if node.body else None
        return shown_range(facts, first) if first is not None else Range(Position(1, 1), Position(1, 1))
    place = facts.range(node)
    if isinstance(getattr(node, "body", None), list) and place.end.line > place.start.line:
        line = facts.source.line(place.start.line).rstrip()
        return Range(place.start, Position(place.start.line, len(line) + 1))
    return place


def _fix(card: Card, draft: Draft) -> Fix | None:
    if not draft.edits:
        return None
    safety = Safety.UNSAFE if draft.unsafe or card.fix == "unsafe" else Safety.SAFE
    return Fix(safety, fill(draft.fix_title or card.fix_title, draft.values), draft.edits)


def with_fingerprints(findings: Sequence[Finding], source_of: Callable[[str], SourceFile | None]) -> list[Finding]:
    """Give each finding an identity that survives edits elsewhere: code, path, its line's text, and which of
    the equal ones it is."""
    if not findings:
        return []
    from hashlib import sha256

    seen: dict[str, int] = {}
    done: list[Finding] = []
    for finding in findings:
        where = finding.location
        source = source_of(where.path)
        text = _line(source, finding) if source is not None else ""
        key = "\0".join((finding.code, where.path, str(finding.properties.get("family", "")), text))
        seen[key] = seen.get(key, 0) + 1
        digest = sha256(f"{key}\0{seen[key]}".encode(errors="surrogatepass")).hexdigest()[:16]
        done.append(finding._replace(fingerprint=digest))
    return done


def _line(source: SourceFile, finding: Finding) -> str:
    line = finding.location.range.start.line
    if finding.location.cell is not None:
        place = bisect_left(source.cells, finding.location.cell, key=lambda cell: cell[1])
        line += source.cells[place][0] - 1
    return source.line(line).strip() if 1 <= line <= len(source.line_starts) else ""
