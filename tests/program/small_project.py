"""A project of a few files in a folder, linked: what the tests of `program` ask their questions of."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope, build
from torchrepro_lint.project.project import Project
from torchrepro_lint.source import read_source


class SmallProject:
    """`files` maps names like "train.py" to their text."""

    def __init__(self, folder: Path, files: dict[str, str], torch_version: str | None = None) -> None:
        self.folder = folder
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(textwrap.dedent(text))
        self.program = Program(
            Project(folder, self._read, files=lambda: sorted(folder.rglob("*.py")), torch_version=lambda: torch_version)
        )

    def _read(self, path: Path) -> ModuleFacts | None:
        return build(read_source(path, path.relative_to(self.folder).as_posix())) if path.exists() else None

    def change(self, name: str, text: str) -> None:
        """A file now holds another text."""
        (self.folder / name).write_text(text)
        self.program.change(self.folder / name, None)

    def facts(self, name: str = "train.py") -> ModuleFacts:
        """The index of one file."""
        facts = self.program.load(str(self.folder / name))
        assert facts is not None
        return facts

    def module(self, name: str = "train.py") -> Module:
        """One file as a rule sees it."""
        return Module(self.facts(name), self.program)

    def call(self, callee: str, name: str = "train.py") -> tuple[ast.Call, Scope]:
        """The first call written `callee(...)`."""
        facts = self.facts(name)
        for node in ast.walk(facts.tree):
            if isinstance(node, ast.Call) and facts.text(node.func) == callee:
                return node, facts.scope_of(node)
        raise AssertionError(f"no call of {callee}")
