"""The server: what the editor tells is kept, what it asks is answered, and what is stale is checked when it is silent.

Everything happens in one thread, between messages: after each file that was checked, the editor has its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from torchrepro_lint import __version__, cards
from torchrepro_lint.baseline import BaselineError
from torchrepro_lint.engine import Request
from torchrepro_lint.explaining import explain
from torchrepro_lint.live import WATCHED
from torchrepro_lint.lsp import protocol
from torchrepro_lint.lsp.folder import Folder, Open, Shown, notebook_text
from torchrepro_lint.lsp.protocol import Document
from torchrepro_lint.model import Finding
from torchrepro_lint.narrowing import as_configured
from torchrepro_lint.projects import apart
from torchrepro_lint.report import Context
from torchrepro_lint.report.explanation import render_text
from torchrepro_lint.settings import SettingsError, SettingsResolver

EXPLAIN = "torchrepro-lint.explain"
DEBOUNCE = 0.05  # seconds of silence before what was typed is checked
PAUSE = 0.002  # in which a message of the editor comes in, between two files
PUBLISH = 0.5  # seconds between reports on files that nobody has open
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithCells(
            cells=[types.NotebookCellLanguage(language="python")],
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
        )
    ],
    save=True,
)


class Server(LanguageServer):
    """The state of one editor's session."""

    def __init__(self) -> None:
        super().__init__("torchrepro-lint", __version__, notebook_document_sync=_NOTEBOOKS)
        self.folders: dict[Path, Folder] = {}
        self._inside: dict[Path, list[Path]] = {}  # the folders that are checked for one of the workspace
        self.changed: dict[Path, str | None] = {}
        self._open: dict[Path, str] = {}  # the URI under which the editor knows a file or notebook
        self._due = 0.0
        self._work: asyncio.Task[None] | None = None
        self._published = 0.0

    # -- what the editor has open -----------------------------------------------------------------------------
    def opened(self, path: Path) -> Open | None:
        """The open file at a path."""
        uri = self._open.get(path)
        if uri is None:
            return None
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        uris_of = [cell.document for cell in notebook.cells] if notebook is not None else [uri]
        return Open(tuple(map(self.document, uris_of)), notebook is not None)

    def document(self, uri: str) -> Document:
        """An open text, or the text of a cell."""
        found = self.workspace.get_text_document(uri)
        return Document(uri, found.source, self.encoding, found.version)

    @property
    def encoding(self) -> str:
        """How the editor counts columns."""
        said = self.workspace.position_encoding
        return str(getattr(said, "value", said))

    def path_of(self, uri: str) -> Path | None:
        """The file that a URI means; of a cell its notebook; None for one that is nowhere on the disk."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        found = uris.to_fs_path(notebook.uri if notebook is not None else uri)
        return Path(found) if found is not None and uri.partition(":")[0] != "untitled" else None

    def edited(self, uri: str) -> None:
        """A file or notebook was opened or changed."""
        path = self.path_of(uri)
        if path is None:
            return
        self._open[path] = uri
        self._change(path, self._text(path))

    def _text(self, path: Path) -> str:
        """What an open file or notebook holds now."""
        now = self.opened(path)
        assert now is not None, "only what is open is asked for"
        texts = [document.text for document in now.documents]
        return notebook_text(texts) if now.is_notebook else texts[0]

    def closed(self, uri: str) -> None:
        """A file is what is on the disk again."""
        path = self.path_of(uri)
        if path is not None and self._open.pop(path, None) is not None:
            self._change(path, None)
            if path in self.folders:  # alone, and nobody has it before them
                self.leave_folder(path)

    def on_disk(self, changed: Iterable[str]) -> None:
        """Files have changed, come or gone there."""
        by_folder: dict[int, tuple[Folder, list[Path]]] = {}
        for path in filter(None, map(self.path_of, changed)):
            folder = self.folder_of(path)
            by_folder.setdefault(id(folder), (folder, []))[1].append(path)
        for folder, paths in by_folder.values():
            self._guarded(partial(folder.live.changed_on_disk, paths))
        self.schedule()

    def _change(self, path: Path, text: str | None) -> None:
        self.changed[path] = text
        self.schedule()

    # -- what is checked ----------------------------------------------------------------------------------------
    def enter(self, path: Path) -> None:
        """Check a folder of the workspace, and each project that lies in it, if it is none itself."""
        self._inside[path] = [path]
        self._guarded(lambda: self._inside[path].extend(_projects_in(path)))
        for folder in self._inside[path]:
            self.add_folder(folder)

    def leave(self, path: Path) -> None:
        """A folder of the workspace is none any more."""
        for folder in self._inside.pop(path, ()):
            self.leave_folder(folder)

    def add_folder(self, path: Path) -> None:
        """Check a folder, or a single file."""
        if path in self.folders:
            return
        for alone in [file for file in self._open if file in self.folders and file.is_relative_to(path)]:
            self.leave_folder(alone)
        texts = {p: self._text(p) for p in self._open if p.is_relative_to(path)}
        self._guarded(
            lambda: self.folders.setdefault(path, Folder(_requester(path), texts, self.opened, self.encoding))
        )

    def leave_folder(self, path: Path) -> None:
        """Check a folder no more, nor show what was found in it."""
        folder = self.folders.pop(path, None)
        self.changed = {p: t for p, t in self.changed.items() if t is not None or not p.is_relative_to(path)}
        for uri in folder.shown if folder is not None else ():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def folder_of(self, path: Path) -> Folder:
        """The innermost folder of a file; a file outside of all is one of its own."""
        around = [folder for folder in self.folders if path.is_relative_to(folder)]
        if not around:
            self.add_folder(path)
            around = [path]
        return self.folders[max(around, key=lambda folder: len(folder.parts))]

    def schedule(self) -> None:
        """Check what is stale once the editor has been silent for a moment."""
        loop = asyncio.get_running_loop()
        self._due = loop.time() + DEBOUNCE
        if self._work is None or self._work.done():
            self._work = loop.create_task(self._until_done())

    async def _until_done(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while (wait := self._due - loop.time()) > 0:
                await asyncio.sleep(wait)
            self._take_changes()
            stale = next((folder for folder in self.folders.values() if folder.live.stale), None)
            if stale is None:
                break
            path = stale.live.check_next()
            if path in self._open or loop.time() > self._published + PUBLISH:
                self._publish()
            await asyncio.sleep(PAUSE)
        self._publish()

    def _take_changes(self) -> None:
        changed, self.changed = self.changed, {}
        by_folder: dict[int, tuple[Folder, dict[Path, str | None]]] = {}
        for path, text in changed.items():
            folder = self.folder_of(path)
            if folder.live.texts.get(path) != text or text is None:
                by_folder.setdefault(id(folder), (folder, {}))[1][path] = text
        for folder, own in by_folder.values():
            folder.live.change(own)

    def _publish(self) -> None:
        for folder in self.folders.values():
            for news in folder.news():
                self.text_document_publish_diagnostics(news)
        self._published = asyncio.get_running_loop().time()

    def _guarded(self, work: Callable[[], object]) -> None:
        """Tell of settings that cannot be read, and go on."""
        try:
            work()
        except (SettingsError, BaselineError) as error:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"torchrepro-lint: {error}"))

    async def settled(self, uri: str) -> tuple[Folder, Path] | None:
        """A file's folder, once the file is checked as it is now."""
        path = self.path_of(uri)
        if path is None or path not in self._open:
            return None
        while path in self.changed or path in self.folder_of(path).live.stale:
            await asyncio.sleep(PAUSE)
        return self.folder_of(path), path


def _projects_in(path: Path) -> list[Path]:
    """The folders further in that are projects of their own."""
    requests = apart(Request((path,), SettingsResolver(cards.codes())))
    return [r.root for r in requests if r.root is not None and path in r.root.parents]


def _requester(path: Path) -> Callable[[], Request]:
    """Asks for a file or a folder without the projects further in, which are asked for by themselves."""

    def request() -> Request:
        asked = Request((path,), SettingsResolver(cards.codes()))
        others = [r for r in apart(asked) if r.root is None or path not in r.root.parents]
        own = others[0] if others else asked._replace(paths=(), root=path)
        return own._replace(narrowings=as_configured(own))

    return request


server = Server()


# -- what the editor tells ------------------------------------------------------------------------------------------
@server.feature(types.INITIALIZED)
def initialized(ls: Server, params: types.InitializedParams) -> None:
    """Begin with the folders of the workspace; ask to be told what changes on the disk."""
    for uri in ls.workspace.folders or filter(None, [ls.workspace.root_uri]):
        path = uris.to_fs_path(uri)
        if path is not None:
            ls.enter(Path(path))
    watched = ls.client_capabilities.workspace and ls.client_capabilities.workspace.did_change_watched_files
    if watched and watched.dynamic_registration:
        watchers = [types.FileSystemWatcher(f"**/*{suffix}") for suffix in WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration("watched", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        ls.client_register_capability(types.RegistrationParams([registration]))
    ls.schedule()


@server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
def did_change_workspace_folders(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    for change, folders in ((ls.leave, params.event.removed), (ls.enter, params.event.added)):
        for path in filter(None, (uris.to_fs_path(folder.uri) for folder in folders)):
            change(Path(path))
    ls.schedule()


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_edit(ls: Server, params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
    ls.edited(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.closed(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    """A new file, or the settings: a client that does not watch the disk says no more of it than this."""
    path = ls.path_of(params.text_document.uri)
    if path is not None and path not in ls.folder_of(path).live.run.files:
        ls.on_disk([params.text_document.uri])


@server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
@server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
def notebook_did_edit(
    ls: Server, params: types.DidOpenNotebookDocumentParams | types.DidChangeNotebookDocumentParams
) -> None:
    ls.edited(params.notebook_document.uri)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
def notebook_did_close(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.closed(params.notebook_document.uri)


@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def did_change_watched_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    ls.on_disk(change.uri for change in params.changes)


# -- what the editor asks -------------------------------------------------------------------------------------------
@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, protocol.FIX_ALL]),
)
async def code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    found = await ls.settled(params.text_document.uri)
    return list(_actions(*found, params)) if found is not None else []


def _actions(folder: Folder, path: Path, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
    only = params.context.only
    if only is None or types.CodeActionKind.QuickFix in only:
        for shown in _at(folder, params.text_document.uri, params.range):
            fix = shown.finding.fix
            edit = folder.fixed([fix]) if fix is not None else None
            if fix is not None and edit is not None:
                yield protocol.quick_fix(fix, shown.diagnostic, edit)
    if only is None or any(protocol.FIX_ALL.startswith(str(getattr(kind, "value", kind))) for kind in only):
        edit = folder.fixed(folder.safe_fixes(path))
        if edit is not None:
            yield protocol.fix_all(edit)


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    uri, at = params.text_document.uri, types.Range(params.position, params.position)
    shown = [row for folder in ls.folders.values() for row in _at(folder, uri, at)]
    found: dict[str, Finding] = {row.finding.code: row.finding for row in shown}
    return protocol.hover(found, shown[0].diagnostic.range) if shown else None


def _at(folder: Folder, uri: str, where: types.Range) -> list[Shown]:
    """What is shown in a range of a document."""
    rows = folder.shown.get(uri, ())
    return [r for r in rows if r.diagnostic.range.start <= where.end and where.start <= r.diagnostic.range.end]


@server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
async def code_lens(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    found = await ls.settled(params.text_document.uri)
    if found is None:
        return []
    folder, path = found
    command = types.Command("Explain this program", EXPLAIN, arguments=[params.text_document.uri])
    return [types.CodeLens(where, command) for where in folder.entries(path)]


@server.command(EXPLAIN)
async def explain_program(ls: Server, uri: str) -> str:
    """What is believed of the programs in a file: shown as a message, and the command's result."""
    found = await ls.settled(uri)
    if found is None:
        return ""
    folder, path = found
    context = Context(color=False, width=100, cwd=folder.live.run.root, fixing=False)
    told = "".join(render_text(explain(folder.live.run, [path]), context))
    ls.window_show_message(types.ShowMessageParams(types.MessageType.Info, told))
    return told
