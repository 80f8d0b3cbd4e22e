"""Findings, places and edits in the words of the Language Server Protocol. Knows no server and no state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from lsprotocol import types

from torchrepro_lint import cards
from torchrepro_lint.model import Finding, Fix, Level, Location, Position, Safety
from torchrepro_lint.report.links import rule_url

SOURCE = "torchrepro-lint"
FIX_ALL = "source.fixAll.torchrepro-lint"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_SEVERITY = {
    Level.ERROR: types.DiagnosticSeverity.Error,
    Level.WARNING: types.DiagnosticSeverity.Warning,
    Level.NOTE: types.DiagnosticSeverity.Information,
}


class Document(NamedTuple):
    """What an editor shows under one URI: a file, or a cell of a notebook. `encoding` is how it counts columns,
    `version` the editor's number of this text, None for one that is not open."""

    uri: str
    text: str
    encoding: str
    version: int | None = None

    @property
    def lines(self) -> list[str]:
        """Its lines with their ends; one more, empty, after a final newline."""
        return split(self.text)

    def position(self, place: Position) -> types.Position:
        """A place, whose column counts characters."""
        lines = self.lines
        number = min(place.line, len(lines))
        return types.Position(number - 1, _units(lines[number - 1][: max(place.column - 1, 0)], self.encoding))

    def range(self, location: Location) -> types.Range:
        """The range of a place in this document."""
        start, end = location.range
        return types.Range(self.position(start), self.position(end))

    def edits(self, new: str) -> Iterator[types.TextEdit]:
        """What makes this text another: whole lines, and no more of them than differ."""
        old, now = self.lines, split(new)
        for tag, first, last, begin, end in SequenceMatcher(None, old, now, autojunk=False).get_opcodes():
            if tag != "equal":
                there = types.Range(self._start(first), self._start(last))
                yield types.TextEdit(there, "".join(now[begin:end]))

    def _start(self, line: int) -> types.Position:
        lines = self.lines
        if line < len(lines):
            return types.Position(line, 0)
        return types.Position(len(lines) - 1, _units(lines[-1], self.encoding))


def split(text: str) -> list[str]:
    """Lines as the protocol and our places count them: they end at CRLF, CR and LF only."""
    found = _LINE.findall(text)
    return found[:-1] if len(found) > 1 and not text.endswith(("\r", "\n")) else found


def _units(text: str, encoding: str) -> int:
    match encoding:
        case "utf-32":
            return len(text)
        case "utf-8":
            return len(text.encode("utf-8", "replace"))
    return len(text.encode("utf-16-le", "replace")) // 2


def diagnostic(
    finding: Finding, where: types.Range, related: Sequence[types.DiagnosticRelatedInformation]
) -> types.Diagnostic:
    """A finding at a place."""
    sure = finding.certainty.value
    return types.Diagnostic(
        range=where,
        message=f"{finding.message} ({sure})",
        severity=_SEVERITY[finding.level],
        code=finding.code,
        code_description=types.CodeDescription(rule_url(finding.code)),
        source=SOURCE,
        related_information=list(related),
        data={"fingerprint": finding.fingerprint},
    )


def quick_fix(fix: Fix, found: types.Diagnostic, edit: types.WorkspaceEdit) -> types.CodeAction:
    """The fix of a finding; a safe one is preferred, an unsafe one says what it is."""
    is_safe = fix.safety is Safety.SAFE
    return types.CodeAction(
        title=fix.title if is_safe else f"{fix.title} (unsafe: may raise, or change what data mean)",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[found],
        is_preferred=is_safe,
        edit=edit,
    )


def fix_all(edit: types.WorkspaceEdit) -> types.CodeAction:
    """All safe fixes of a document."""
    return types.CodeAction(title="torchrepro-lint: make all safe fixes in this file", kind=FIX_ALL, edit=edit)


def hover(found: Mapping[str, Finding], where: types.Range) -> types.Hover:
    """The pages of the rules that report something at a place."""
    pages = "\n\n---\n\n".join(map(_page, found.values()))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, pages), where)


def _page(finding: Finding) -> str:
    card = cards.load_card(finding.code)
    head = f"**[{card.code}]({rule_url(card.code)}) {card.name}**, {finding.level.value} ({finding.certainty.value})"
    sections = (f"#### {title}\n\n{text}" for title, text in card.sections().items())
    return "\n\n".join((head, card.summary, *sections))
