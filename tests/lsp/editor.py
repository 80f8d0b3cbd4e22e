"""A small editor: a client of the language server, which keeps what it is told and applies edits."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

PATIENCE = 60  # seconds, on a busy machine


class Editor:
    """One window on a folder. `diagnostics` are what is shown, by URI, `answered` the versions of the texts that they
    are about; `messages` what was said; `process` is the server's number."""

    def __init__(self, root: Path, client: LanguageClient) -> None:
        self.root, self.client = root, client
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.diagnostics: dict[str, list[types.Diagnostic]] = {}
        self.answered: dict[str, int | None] = {}
        self.process = 0
        self.messages: list[str] = []
        self.is_told = asyncio.Event()

    def enter(self, root: Path) -> None:
        """Add a folder to the window, and look at that alone."""
        self.root, self.is_told = root, asyncio.Event()
        self.diagnostics.clear()
        self.messages.clear()
        self._folders(added=[types.WorkspaceFolder(root.as_uri(), "folder")])

    def leave(self) -> None:
        """Close all files, and take the folder out of the window."""
        for uri in self.texts:
            if uri.startswith("file:"):
                self.close(uri)
        self.texts.clear()
        self._folders(removed=[types.WorkspaceFolder(self.root.as_uri(), "folder")])

    def _folders(self, **changed: list[types.WorkspaceFolder]) -> None:
        event = types.WorkspaceFoldersChangeEvent(**{"added": [], "removed": [], **changed})
        self.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str) -> str:
        """Open a file as it is on the disk; its URI."""
        uri = self.uri(name)
        self.texts[uri], self.versions[uri] = (self.root / name).read_bytes().decode(), 1
        item = types.TextDocumentItem(uri, "python", 1, self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, text: str) -> None:
        """Replace the whole text."""
        self.texts[uri] = text
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def changed_on_disk(self, name: str, kind: types.FileChangeType) -> None:
        event = types.FileEvent(self.uri(name), kind)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    def codes(self, uri: str) -> list[tuple[str, int]]:
        """What is shown in a document: rules and 1-based lines."""
        return [(str(d.code), d.range.start.line + 1) for d in self.diagnostics.get(uri, [])]

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until what is shown is so."""

        async def told() -> None:
            while not is_so():
                self.is_told.clear()
                await self.is_told.wait()

        await asyncio.wait_for(told(), PATIENCE)

    async def actions(self, uri: str, line: int, *kinds: str) -> list[types.CodeAction]:
        """What can be done on a 1-based line."""
        where = types.Range(types.Position(line - 1, 0), types.Position(line - 1, 0))
        found = [d for d in self.diagnostics.get(uri, []) if d.range.start.line == line - 1]
        where = found[0].range if found else where
        context = types.CodeActionContext(found, only=list(kinds) or None)
        asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        answer = await self.client.text_document_code_action_async(asked)
        return [action for action in answer or [] if isinstance(action, types.CodeAction)]

    def apply(self, action: types.CodeAction) -> None:
        """Do what an action says, as if it were typed."""
        assert action.edit is not None and action.edit.changes is not None
        for uri, edits in action.edit.changes.items():
            self.type(uri, applied(self.texts[uri], list(edits)))


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """A text with edits whose columns count UTF-16 units."""
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]

    def offset(place: types.Position) -> int:
        line = text[starts[place.line] :]
        return starts[place.line] + len(line.encode("utf-16-le")[: 2 * place.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda e: offset(e.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


@asynccontextmanager
async def editing(root: Path | None, files: Mapping[str, str] | None = None) -> AsyncIterator[Editor]:
    """An editor with a folder, in which these files are, or without one."""
    client = LanguageClient("tests", "1")
    editor = Editor(root or Path(), client)
    if root is not None:
        write(root, files or {})

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def told(params: types.PublishDiagnosticsParams) -> None:
        editor.diagnostics[params.uri] = list(params.diagnostics)
        editor.answered[params.uri] = params.version
        editor.is_told.set()

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    def said(params: types.ShowMessageParams) -> None:
        editor.messages.append(params.message)
        editor.is_told.set()

    await client.start_io(sys.executable, "-m", "torchrepro_lint", "lsp")
    assert client._server is not None
    editor.process = client._server.pid
    notebooks = types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities())
    folders = [types.WorkspaceFolder(root.as_uri(), "folder")] if root is not None else []
    capabilities = types.ClientCapabilities(notebook_document=notebooks)
    await client.initialize_async(types.InitializeParams(capabilities, workspace_folders=folders))
    client.initialized(types.InitializedParams())
    try:
        yield editor
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="")
