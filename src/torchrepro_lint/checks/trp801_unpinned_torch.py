"""TRP801: a program's dependencies allow several releases of PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.project.disk import Required, exists, required, speaks_of
from torchrepro_lint.project.entries import entries
from torchrepro_lint.project.versions import pins
from torchrepro_lint.seeding.seedings import seedings

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "pixi.lock", "conda-lock.yml")
SCRIPTS = ("setup.py", "setup.cfg", "Pipfile")  # lists that are not read
PINNING = ("torch", "torchvision", "torchaudio")  # each release of one requires one release of the others


def check(module: Module, program: Program) -> Iterator[Draft]:
    """One note per program that uses PyTorch, where its lists of dependencies allow several releases of it."""
    starts = entries(module.facts, program.project)
    folders = _upwards(module.facts.source.path.parent, program.project.root) if starts else ()
    if not starts or any(_decides_elsewhere(folder, program) for folder in folders):
        return
    wanted = next((found for folder in folders if (found := _wanted(folder, program))), ())
    if any(r.specifier is not None and pins(r.specifier) for r in wanted) or not _uses_torch(module, program):
        return
    for entry in starts:
        yield _open(entry.node, wanted[0], program.project.root) if wanted else Draft(entry.node, message="nowhere")


def _open(node: ast.AST, wanted: Required, root: Path) -> Draft:
    file = Path(wanted.path).relative_to(root).as_posix()
    values = {"requirement": wanted.text, "file": file, "line": str(wanted.line)}
    return Draft(node, values, properties={"requirement": wanted.text, "file": file, "line": wanted.line})


def _uses_torch(module: Module, program: Program) -> bool:
    """Whether the file imports it, or what the program runs does."""
    if "torch" in module.facts.packages:
        return True
    return any("torch" in facts.packages for seeding in seedings(module.facts, program) for facts in seeding.visited)


def _upwards(folder: Path, root: Path) -> Sequence[Path]:
    """The folder of a program and those around it, up to the project's."""
    return [place for place in (folder, *folder.parents) if place.is_relative_to(root)]


def _wanted(folder: Path, program: Program) -> tuple[Required, ...]:
    found: tuple[Required, ...] = program.project.disk(required, str(folder), *PINNING)
    return found


def _decides_elsewhere(folder: Path, program: Program) -> bool:
    """Whether a lock file, or a list that is not read, decides the release of PyTorch."""
    if any(program.project.disk(exists, str(folder / lock)) for lock in LOCKS):
        return True
    return any(program.project.disk(speaks_of, str(folder / name), "torch") for name in SCRIPTS)
