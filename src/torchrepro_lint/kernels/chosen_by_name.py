"""Where a model comes from that is picked by a name which only the run knows: `eval(args.model).Net()`.

Answers with the files of the project that such a name may lead to; which of them is taken is not known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchrepro_lint.dataflow.dynamic_lookup import picked
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.index.parents import descendants
from torchrepro_lint.project.disk import modules_in

MAX_FILES = 60
_HINTS = ("eval(", "getattr(", "__dict__[", "vars(", "import_module(")


def files_chosen_by_name(files: Iterable[ModuleFacts], program: Program) -> Iterator[ModuleFacts]:
    """The files that names which are made up at run time may lead to."""
    paths = dict.fromkeys(path for facts in files for path in _paths(facts, program))
    for path in list(paths)[:MAX_FILES]:
        found = program.load(path)
        if found is not None:
            yield found


@remembered
def _paths(facts: ModuleFacts, program: Program) -> tuple[str, ...]:
    return tuple(_found_in(facts, program))


def _found_in(facts: ModuleFacts, program: Program) -> Iterator[str]:
    if not any(facts.source.matches(re.escape(hint)) for hint in _HINTS):
        return
    for node in descendants(facts.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"), args=[name, *_]):
                yield from _in_package(_beginning(name), facts, program)
            case ast.Call(func=ast.Call() as made) | ast.Call(func=ast.Attribute(value=ast.Call() as made)):
                if isinstance(made.func, ast.Name) and made.func.id == "eval":
                    for path in sorted(program.project.imported(facts.source.path)):
                        yield from _with_imported(path, program)
        pick = picked(node, facts.scope_of(node), program) if isinstance(node, ast.Call | ast.Subscript) else None
        if pick is not None and pick.module is not facts.scope:
            yield from _with_imported(str(pick.module.facts.source.path), program)


def _with_imported(path: str, program: Program) -> Iterator[str]:
    """A file, and those that it imports: a package's `__init__` has its models from others."""
    yield path
    yield from sorted(program.project.imported(Path(path)))


def _in_package(name: str, facts: ModuleFacts, program: Program) -> Iterator[str]:
    """The files of a package of the project."""
    found = program.project.finder.find(name, 0, str(facts.source.path)) if name else None
    if found is None or found[1]:
        return
    folder = Path(found[0])
    folder = folder.parent if folder.name == "__init__.py" else folder
    yield from program.project.disk(modules_in, str(folder))


def _beginning(name: ast.expr) -> str:
    """What a made-up name begins with for certain, up to its last dot: "models" of `"models." + arch`."""
    match name:
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=ast.Constant(value=str() as text)):
            known = text.partition("%")[0]
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            known = text
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format")):
            known = text.partition("{")[0]
        case _:
            return ""
    return known.rpartition(".")[0]
