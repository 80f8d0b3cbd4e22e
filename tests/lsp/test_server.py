"""The language server as an editor meets it: a process of its own, spoken with over its standard streams."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="needs the extra lsp")

from lsprotocol import types

from lsp.editor import Editor, editing, write
from torchrepro_lint import check

MODEL = "from torch import nn\n\n\ndef build():\n    return nn.Linear(2, 2)\n"
TRAIN = """\
from model import build

if __name__ == "__main__":
    model = build()
    model.weight.sum().backward()
"""
SEEDED = TRAIN.replace("from model", "import torch\n\nfrom model").replace(
    "    model = ", "    torch.manual_seed(0)\n    model = "
)
PROJECT = {"pyproject.toml": "[project]\nname = 'a'\n", "model.py": MODEL, "train.py": TRAIN}


Session = Callable[[dict[str, str], Callable[[Editor], Awaitable[None]]], None]


@pytest.fixture(scope="module")
def window() -> Iterator[tuple[asyncio.AbstractEventLoop, Editor]]:
    """An editor without a folder, and the loop that it lives in: one server for all tests that bring one."""
    loop = asyncio.new_event_loop()
    started = editing(None)
    yield loop, loop.run_until_complete(started.__aenter__())
    loop.run_until_complete(started.__aexit__(None, None, None))
    loop.close()


@pytest.fixture
def session(window: tuple[asyncio.AbstractEventLoop, Editor], tmp_path: Path) -> Session:
    """Work in a folder with these files."""
    loop, editor = window

    async def whole(work: Callable[[Editor], Awaitable[None]]) -> None:
        editor.enter(tmp_path)
        try:
            await work(editor)
        finally:
            editor.leave()

    def run(files: dict[str, str], work: Callable[[Editor], Awaitable[None]]) -> None:
        write(tmp_path, files)
        loop.run_until_complete(whole(work))

    return run


def test_folders_are_there_from_the_start_or_come_and_go(tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, PROJECT)

    async def run() -> None:
        async with editing(tmp_path / "first", PROJECT) as editor:
            first, second = editor.uri("train.py"), (other / "train.py").as_uri()
            await editor.until(lambda: editor.codes(first) == [("TRP101", 3)])
            editor.root = other
            alone = editor.open("train.py")
            await editor.until(lambda: bool(editor.codes(second)))
            editor.close(alone)
            await editor.until(lambda: editor.codes(second) == [])
            editor.open("train.py")
            editor.enter(other)
            await editor.until(lambda: editor.codes(second) == [("TRP101", 3)])
            editor.leave()
            await editor.until(lambda: editor.codes(second) == [])

    asyncio.run(run())


def test_repositories_in_a_folder_are_projects_of_their_own(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        await editor.until(lambda: editor.codes(editor.uri("two/train.py")) == [("TRP101", 3)])
        beside = editor.open("train.py")
        await editor.until(lambda: editor.codes(beside) == [("TRP101", 3)])
        seeding = "import torch\n\nfrom model import build\n\ntorch.manual_seed(0)\n"
        editor.type(beside, TRAIN.replace("from model import build\n", seeding))
        await editor.until(lambda: editor.codes(beside) == [])
        assert editor.codes(editor.uri("one/train.py")) == []
        assert editor.codes(editor.uri("two/train.py")) == [("TRP101", 3)]

    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    program = {name: text for name, text in PROJECT.items() if name.endswith(".py")}
    one = {f"one/{name}": text for name, text in (program | {"train.py": SEEDED}).items()}
    session(program | one | {f"two/{name}": text for name, text in program.items()}, work)
    assert sorted(f"{f.location.path} {f.code}" for f in check(tmp_path, select=["TRP101"]).findings) == [
        "train.py TRP101",
        "two/train.py TRP101",
    ]


def test_the_whole_program_is_checked_as_one_types(session: Session) -> None:
    async def work(editor: Editor) -> None:
        train, model = editor.uri("train.py"), editor.uri("model.py")
        await editor.until(lambda: editor.codes(train) == [("TRP101", 3)])
        (found,) = editor.diagnostics[train]
        assert [(r.location.uri, r.location.range.start.line) for r in found.related_information or ()] == [
            (train, 3), (model, 4)
        ]  # fmt: skip
        assert found.code_description and "TRP101" in found.code_description.href
        editor.open("model.py")
        editor.type(model, "def build():\n    return None\n")  # the other file has nothing to report now
        await editor.until(lambda: editor.codes(train) == [])
        editor.close(model)  # what is on the disk counts again
        await editor.until(lambda: editor.codes(train) == [("TRP101", 3)])

    session(PROJECT, work)


def test_fixes_are_offered_and_do_what_they_say(session: Session) -> None:
    files = {**PROJECT, "late.py": "import torch\n\nif __name__ == '__main__':\n    '😀'; x = torch.rand(3, requires_grad=True)\n    torch.manual_seed(0)\n    x.sum().backward()\n"}  # fmt: skip # noqa: E501

    async def work(editor: Editor) -> None:
        train, late = editor.open("train.py"), editor.open("late.py")
        await editor.until(lambda: bool(editor.codes(train) and editor.codes(late)))
        fix, everything = await editor.actions(train, 3)
        assert (fix.kind, fix.is_preferred) == ("quickfix", True)
        assert everything.kind == "source.fixAll.torchrepro-lint" and everything.edit == fix.edit
        editor.apply(fix)
        assert editor.texts[train] == SEEDED
        await editor.until(lambda: editor.codes(train) == [])
        unsafe, *others = await editor.actions(late, editor.codes(late)[0][1])
        assert "unsafe" in unsafe.title and not unsafe.is_preferred and not others
        editor.apply(unsafe)
        await editor.until(lambda: editor.codes(late) == [])

    session(files, work)


def test_columns_are_counted_as_the_protocol_does(session: Session) -> None:
    text = "import torch\n\nface = '😀'; torch.seed()\n"

    async def work(editor: Editor) -> None:
        uri = editor.uri("seeds.py")
        await editor.until(lambda: bool(editor.diagnostics.get(uri)))
        where = editor.diagnostics[uri][0].range
        units = text.splitlines()[2].encode("utf-16-le")
        assert units[2 * where.start.character : 2 * where.end.character].decode("utf-16-le") == "torch.seed()"

    session({"seeds.py": text}, work)


def test_a_rule_is_explained_and_so_is_a_program(session: Session) -> None:
    async def work(editor: Editor) -> None:
        train = editor.open("train.py")
        await editor.until(lambda: bool(editor.codes(train)))
        document = types.TextDocumentIdentifier(train)
        asked = types.HoverParams(document, types.Position(2, 4))
        hover = await editor.client.text_document_hover_async(asked)
        assert hover is not None and isinstance(hover.contents, types.MarkupContent)
        assert "TRP101" in hover.contents.value and "#### What it does" in hover.contents.value
        (lens,) = await editor.client.text_document_code_lens_async(types.CodeLensParams(document)) or ()
        assert lens.range.start.line == 2 and lens.command is not None
        ask = types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
        told = await editor.client.workspace_execute_command_async(ask)
        assert "no seed was found" in told and editor.messages == [told]

    session(PROJECT, work)


def test_a_notebook_is_shown_and_mended_by_cell(session: Session, tmp_path: Path) -> None:
    cells = ["import torch\nfrom torch import nn\n", "model = nn.Linear(2, 2)\nmodel.weight.sum().backward()\n"]
    rows = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in cells]
    book = json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    async def work(editor: Editor) -> None:
        names = [f"vscode-notebook-cell:{(tmp_path / 'book.ipynb').as_posix()}#{n}" for n in range(2)]
        for name, text in zip(names, cells, strict=True):
            editor.texts[name], editor.versions[name] = text, 1
        notebook = types.NotebookDocument(
            editor.uri("book.ipynb"), "jupyter-notebook", 1,
            [types.NotebookCell(types.NotebookCellKind.Code, name) for name in names],
        )  # fmt: skip
        items = [types.TextDocumentItem(name, "python", 1, editor.texts[name]) for name in names]
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
        await editor.until(lambda: any(editor.codes(name) for name in names))
        place = next(name for name in names if editor.codes(name))
        (fix, *_) = await editor.actions(place, editor.codes(place)[0][1])
        assert fix.edit is not None and fix.edit.changes is not None and set(fix.edit.changes) <= set(names)
        changed = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, names[0]),
            [
                types.TextDocumentContentChangeWholeDocument(
                    "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
                )
            ],
        )
        event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[changed]))
        identifier = types.VersionedNotebookDocumentIdentifier(2, notebook.uri)
        editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))
        await editor.until(lambda: not any(editor.codes(name) for name in names))

    session({"book.ipynb": book}, work)


def test_what_changes_on_the_disk_is_seen(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        train = editor.uri("train.py")
        await editor.until(lambda: bool(editor.codes(train)))
        (tmp_path / "train.py").write_text(SEEDED)
        editor.changed_on_disk("train.py", types.FileChangeType.Changed)
        await editor.until(lambda: editor.codes(train) == [])
        (tmp_path / "other.py").write_text(TRAIN)
        editor.changed_on_disk("other.py", types.FileChangeType.Created)
        await editor.until(lambda: editor.codes(editor.uri("other.py")) == [("TRP101", 3)])
        (tmp_path / "other.py").unlink()
        editor.changed_on_disk("other.py", types.FileChangeType.Deleted)
        await editor.until(lambda: editor.codes(editor.uri("other.py")) == [])
        (tmp_path / "pyproject.toml").write_text("[tool.torchrepro-lint]\nseed = 'x'\n")
        editor.changed_on_disk("pyproject.toml", types.FileChangeType.Changed)
        await editor.until(lambda: any("seed" in message for message in editor.messages))
        assert [message for message in editor.messages if "pyproject.toml" not in message] == []
        assert editor.codes(train) == []

    session(PROJECT, work)


def test_after_any_edits_it_shows_what_the_command_line_would(session: Session, tmp_path: Path) -> None:
    generator = random.Random(0)
    lines = ("torch.manual_seed(0)", "x = torch.rand(2)", "import torch", "    return 1", "# a comment", "def f():", "")

    async def work(editor: Editor) -> None:
        uris = [editor.open(name) for name in ("train.py", "model.py", "data.py")]
        for step in range(40):
            uri = generator.choice(uris)
            text = editor.texts[uri].splitlines(keepends=True)
            if text and generator.random() < 0.4:
                del text[generator.randrange(len(text))]
            else:
                text.insert(generator.randint(0, len(text)), generator.choice(lines) + "\n")
            editor.type(uri, "".join(text))
            if step % 5 == 4:
                for shown in uris:
                    (copy / shown.rpartition("/")[2]).write_text(editor.texts[shown])
                expected = sorted(
                    ((tmp_path / f.location.path).as_uri(), f.code, f.location.range.start.line)
                    for f in check(copy).findings
                )
                await editor.until(lambda: shown_by(editor) == expected)  # noqa: B023

    copy = tmp_path.parent / f"{tmp_path.name}-copy"
    copy.mkdir()
    (copy / "pyproject.toml").write_text(PROJECT["pyproject.toml"])
    session({**PROJECT, "data.py": "import torch\n\nnoise = torch.rand(2)\n"}, work)


def shown_by(editor: Editor) -> list[tuple[str, str, int]]:
    """What the editor shows: documents, rules and lines."""
    return sorted((uri, code, line) for uri in editor.diagnostics for code, line in editor.codes(uri))
