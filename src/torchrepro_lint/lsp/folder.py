"""What is found in one folder of an editor's workspace, as documents with diagnostics. Knows the protocol's types, and
no server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from torchrepro_lint.engine import Request, Result
from torchrepro_lint.fixing import apply_edits
from torchrepro_lint.live import Live
from torchrepro_lint.lsp import protocol
from torchrepro_lint.lsp.protocol import Document
from torchrepro_lint.model import Finding, Fix, Location, Position, Range, Related, Safety
from torchrepro_lint.project.entries import entries
from torchrepro_lint.report.positions import Files


class Shown(NamedTuple):
    """A finding in a document, as the editor knows it."""

    finding: Finding
    diagnostic: types.Diagnostic


class Open(NamedTuple):
    """An open file: its documents, of which a notebook has one for each cell."""

    documents: tuple[Document, ...]
    is_notebook: bool


class Folder:
    """One folder, or one file outside of all folders. `opened` gives the open file at a path, None for one that is not
    open; `encoding` is how the editor counts columns."""

    def __init__(
        self, request: Callable[[], Request], texts: Mapping[Path, str], opened: Callable[[Path], Open | None],
        encoding: str,
    ) -> None:  # fmt: skip
        self.live = Live(request, texts)
        self.shown: dict[str, list[Shown]] = {}
        self._opened = opened
        self._encoding = encoding
        self._told: dict[str, tuple[object, ...]] = {}

    def news(self) -> Iterator[types.PublishDiagnosticsParams]:
        """The documents that are others than when this was last asked, or whose diagnostics are; but for those that are
        yet to be checked: what is known of these is about another text."""
        result = self.live.result()
        by_file: dict[str, list[Finding]] = {}
        for finding in result.findings:
            by_file.setdefault(finding.location.path, []).append(finding)
        opened, stale = (set(map(self.live.run.rel, files)) for files in (self.live.texts, self.live.stale))
        for rel in sorted({*by_file, *self._told, *opened} - stale):
            state = (tuple(by_file.get(rel, ())), self._opened(result.root / rel))
            if self._told.get(rel) != state:
                yield from self._of_file(rel, by_file.get(rel, []), result)
                self._told[rel] = state

    def _of_file(
        self, rel: str, findings: Sequence[Finding], result: Result
    ) -> Iterator[types.PublishDiagnosticsParams]:
        documents = _Documents(result, self._opened, self._encoding)
        versions = {document.uri: document.version for document in documents.of(rel)}
        found: dict[str, list[Shown]] = {uri: [] for uri in versions}
        for finding in findings:
            document, where = documents.place(finding.location)
            related = [documents.related(item) for item in finding.related]
            found.setdefault(document.uri, []).append(Shown(finding, protocol.diagnostic(finding, where, related)))
        for uri, rows in found.items():
            self.shown[uri] = rows
            yield types.PublishDiagnosticsParams(uri, [row.diagnostic for row in rows], versions.get(uri))

    def fixed(self, fixes: Sequence[Fix]) -> types.WorkspaceEdit | None:
        """What makes these fixes; None where there is nothing to be made."""
        result = self.live.result()
        documents = _Documents(result, self._opened, self._encoding)
        changes: dict[str, list[types.TextEdit]] = {}
        for rel, text in apply_edits(result.source, fixes).documents.items():
            changes |= documents.changes(rel, text)
        return types.WorkspaceEdit(changes=changes) if changes else None

    def safe_fixes(self, path: Path) -> list[Fix]:
        """The safe fixes that change this file alone."""
        rel = self.live.run.rel(path)
        fixes = (shown.finding.fix for rows in self.shown.values() for shown in rows)
        return [f for f in fixes if f and f.safety is Safety.SAFE and f.paths == {rel}]

    def entries(self, path: Path) -> list[types.Range]:
        """Where programs start in a file; of a notebook none, which has no one place."""
        facts = self.live.run.program.load(str(path))
        if facts is None or facts.source.kind not in ("python", "stub"):
            return []
        found = (entry.node.lineno - 1 for entry in entries(facts, self.live.run.program.project))
        return [types.Range(types.Position(line, 0), types.Position(line, 0)) for line in found]


class _Documents:
    """The documents of a result's files: as they are open, else as they are on the disk."""

    def __init__(self, result: Result, opened: Callable[[Path], Open | None], encoding: str) -> None:
        self._result, self._opened, self._encoding = result, opened, encoding
        self._files = Files(result)
        self._known: dict[str, tuple[Document, ...]] = {}

    def of(self, rel: str) -> tuple[Document, ...]:
        """The cells of an open notebook, else the file."""
        if rel not in self._known:
            path = self._result.root / rel
            opened, source = self._opened(path), self._files.source(rel)
            text = source.document if source is not None else ""
            closed = (Document(path.as_uri(), text, self._encoding),)
            self._known[rel] = opened.documents if opened is not None else closed
        return self._known[rel]

    def place(self, location: Location) -> tuple[Document, types.Range]:
        """Where a place is: of a closed notebook, in its JSON."""
        documents, opened = self.of(location.path), self._opened(self._result.root / location.path)
        if location.cell is None:
            return documents[0], documents[0].range(location)
        if opened is not None and opened.is_notebook and location.cell <= len(documents):
            document = documents[location.cell - 1]
            return document, document.range(location)
        lines = self._files.lines(location)
        whole = Range(Position(lines.first, 1), Position(lines.last, 10**6))
        return documents[0], documents[0].range(Location(location.path, whole))

    def related(self, item: Related) -> types.DiagnosticRelatedInformation:
        """Another place that a finding rests on."""
        document, where = self.place(item.location)
        return types.DiagnosticRelatedInformation(types.Location(document.uri, where), item.message)

    def changes(self, rel: str, text: str) -> dict[str, list[types.TextEdit]]:
        """The edits, by document, that make a file hold a text; of a notebook its JSON."""
        opened = self._opened(self._result.root / rel)
        new = cell_texts(text) if opened is not None and opened.is_notebook else [text]
        pairs = zip(self.of(rel), new, strict=True)
        edits = {document.uri: list(document.edits(wanted)) for document, wanted in pairs}
        return {uri: wanted for uri, wanted in edits.items() if wanted}


def notebook_text(cells: Sequence[str]) -> str:
    """The JSON of a notebook with these cells of Python."""
    import json

    rows = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in cells]
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def cell_texts(document: str) -> list[str]:
    """The cells of such a notebook."""
    import json

    return [str(cell["source"]) for cell in json.loads(document)["cells"]]
