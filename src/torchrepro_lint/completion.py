"""Turns what a check yields into a finding: the card gives name, level, message, help and fix title."""

from __future__ import annotations

import ast
import platform
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from traceback import extract_tb
from typing import TYPE_CHECKING

from torchrepro_lint import ISSUES, __version__
from torchrepro_lint.cards import load_card
from torchrepro_lint.checks import Draft, Place
from torchrepro_lint.checks.draft import made
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Certainty, Edit, Finding, Fix, Level, Location, Position, Range, Related, Safety
from torchrepro_lint.project.contents import is_a_copy, is_test
from torchrepro_lint.source import SourceFile
from torchrepro_lint.suppression import Unused, removal

if TYPE_CHECKING:
    from torchrepro_lint.cards import Card

MAX_FRAMES = 5  # of a crash that are told


def complete(code: str, draft: Draft, facts: ModuleFacts, *, with_edits: bool = True) -> Finding:
    """The finding for a check's draft, and the edits of its fix if they are asked for. Raises KeyError for a
    placeholder without a value."""
    from torchrepro_lint.fingerprints import statement_at

    card = load_card(code)
    fix = _fix(card, draft, facts, with_edits=with_edits)
    template = card.messages[draft.message] if draft.message else card.message
    related = draft.related
    if draft.written_at is not None:
        related = (Place(facts, draft.node, draft.written_at.message), *related)
        facts = draft.written_at.facts
    shown = shown_range(facts, draft.written_at.node if draft.written_at is not None else draft.node)
    certainty = Certainty.DEPENDS if draft.depends else draft.certainty or card.certainty
    return Finding(
        code,
        card.name,
        _level(draft.level or card.level, certainty, facts),
        certainty,
        fill(template, draft.values) + (f"; this depends on whether {listed(draft.depends)}" if draft.depends else ""),
        facts.source.location(shown),
        {**draft.properties, "depends_on": list(draft.depends)} if draft.depends else draft.properties,
        tuple(dict.fromkeys(map(_related, related))) if related else (),
        fix,
        statement=statement_at(facts.source, facts, shown.start.line),
        help=fill(card.help_for.get(draft.message or "", card.help), draft.values),
    )


def _level(level: Level, certainty: Certainty, facts: ModuleFacts) -> Level:
    """What depends on the run is a note, and so is what makes only a unit test vary: no training rests on it."""
    if certainty is Certainty.DEPENDS or (level is Level.WARNING and is_test(facts)):
        return Level.NOTE
    return level


def _related(place: Place | Related) -> Related:
    if isinstance(place, Related):
        return place
    return Related(place.facts.source.location(shown_range(place.facts, place.node)), place.message)


def tool_finding(code: str, rel: str, where: Position, message: str, source: SourceFile | None = None) -> Finding:
    """A finding of the tool itself (TRP001, TRP003, TRP004), at a place that may have no syntax tree, of a file that
    could perhaps not be read."""
    card = load_card(code)
    place = Range(where, Position(where.line, where.column + 1))
    location = Location(rel, place) if source is None else source.location(place)
    return Finding(code, card.name, card.level, card.certainty, message, location, help=card.help)


def crash(rule: str, rel: str, error: Exception) -> Finding:
    """TRP003 for a rule that failed, with all that whoever mends it needs to know."""
    frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(extract_tb(error.__traceback__))]
    told = re.sub(r" at 0x[0-9a-fA-F]+", "", f"{type(error).__name__}: {error}")  # the same in every run
    return failed(rule, rel, told, " < ".join(tuple(dict.fromkeys(frames))[:MAX_FRAMES]))


def failed(rule: str, rel: str, error: str, place: str) -> Finding:
    """TRP003."""
    told = {
        "rule": rule,
        "error": error,
        "place": place,
        "versions": f"torchrepro-lint {__version__}, Python {platform.python_version()}",
        "address": ISSUES,
    }
    return tool_finding("TRP003", rel, Position(1, 1), fill(load_card("TRP003").message, told))


def unused_suppression(source: SourceFile, unused: Unused, *, with_edits: bool = True) -> Finding:
    """TRP002: which parts of a suppression silenced nothing, and the edit that removes them, if it is asked for."""
    card = load_card("TRP002")
    parts = [f"no rule is called {', '.join(unused.unknown)}"] if unused.unknown else []
    if unused.meant_for is not None:
        parts.append(_better_place(source, unused, unused.meant_for))
    elif unused.alone and not unused.unknown:
        parts.append("on a line of its own it belongs to no statement")
    elif unused.idle:
        parts.append(f"{', '.join(unused.idle)} silenced nothing here")
    message = fill(card.message, {"problem": "; ".join(parts) or "it silenced nothing here"})
    fix = None
    if unused.meant_for is None:
        edits = (Edit(source.rel, *removal(source, unused)),) if with_edits else ()
        fix = Fix(Safety.SAFE, card.fix_title, edits, source.rel)
    where = source.location(unused.item.range)
    statement = source.slice(unused.item.range)
    return Finding(
        "TRP002", card.name, card.level, card.certainty, message, where, fix=fix, help=card.help, statement=statement
    )


def no_python(source: SourceFile) -> Iterator[Finding]:
    """TRP004, for a notebook whose code is all in other languages."""
    if source.cells:
        return
    from torchrepro_lint.source.notebook import languages

    if found := languages(source.document):
        message = fill(load_card("TRP004").message, {"languages": listed(found)})
        yield tool_finding("TRP004", source.rel, Position(1, 1), message)


def _better_place(source: SourceFile, unused: Unused, line: int) -> str:
    place = source.location(Range(Position(line, 1), Position(line, 1)))
    cell = f" of cell {place.cell}" if place.cell is not None else ""
    where = f"on line {place.range.start.line}{cell}"
    above = " or above" if unused.item.kind == "ignore" else ""
    return f"it silenced nothing here, and {unused.found} is reported {where}: the comment belongs on that line{above}"


def fill(template: str, values: Mapping[str, str]) -> str:
    """The message with its `{placeholders}` filled; long values, and calls of many lines, are shortened."""
    if "{" not in template and "}" not in template:
        return template
    return template.format_map({name: _short(values[name]) for name in _placeholders(template)})


@cache
def _placeholders(template: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name)


def _short(text: str, limit: int = 240) -> str:
    if "\n" in text and (called := _called(text)):
        return f"{called}(...)"
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def _called(text: str) -> str:
    """What is called by source text that is one call; empty for any other."""
    try:
        written = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    return ast.unparse(written.func) if isinstance(written, ast.Call) else ""


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


def _fix(card: Card, draft: Draft, facts: ModuleFacts, *, with_edits: bool) -> Fix | None:
    if not draft.edits or facts.source.is_rewritten:
        return None
    edits = made(draft.edits) if with_edits or isinstance(draft.edits, tuple) else ()
    is_unsafe = draft.unsafe or card.fix == "unsafe" or is_a_copy(facts)
    safety = Safety.UNSAFE if is_unsafe else Safety.SAFE
    return Fix(safety, fill(draft.fix_title or card.fix_title, draft.values), edits, facts.source.rel)
