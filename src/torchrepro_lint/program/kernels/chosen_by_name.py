"""Models that a program picks by a name which is known only when it runs: `getattr(models, args.arch)()`.

Answers with the files of the project that such a name may lead to; which of them is taken is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.program.program import Program

MAX_FILES = 60
_HINTS = ("eval(", "getattr(", "__dict__[", "vars(", "import_module(")


def files_chosen_by_name(files: Iterable[ModuleFacts], program: Program) -> Iterator[ModuleFacts]:
    """The files that names which are made up at run time may lead to."""
    paths = dict.fromkeys(path for facts in files for path in _paths(facts, program))
    for path in list(paths)[:MAX_FILES]:
        found = program.load(path)
        if found is not None:
            yield found


def _paths(facts: ModuleFacts, program: Program) -> Iterator[str]:
    if not any(hint in facts.source.text for hint in _HINTS):
        return
    for node in ast.walk(facts.tree):
        match node:
            case ast.Call(func=ast.Call() as made) | ast.Call(func=ast.Attribute(value=ast.Call() as made)):
                if isinstance(made.func, ast.Name) and made.func.id == "eval":
                    for path in sorted(program.imported(facts.source.path)):
                        yield from _with_imported(path, program)
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name() as holder, name, *_]):
                yield from _in_module(holder, name, facts, program)
            case ast.Subscript(value=ast.Attribute(value=ast.Name() as holder, attr="__dict__"), slice=name):
                yield from _in_module(holder, name, facts, program)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[ast.Name() as holder]), slice=name):
                yield from _in_module(holder, name, facts, program)
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"), args=[name, *_]):
                yield from _in_package(_beginning(name), facts, program)


def _in_module(holder: ast.Name, name: ast.expr, facts: ModuleFacts, program: Program) -> Iterator[str]:
    """The file of a module of the project, and those that it imports."""
    owner = facts.scope_of(holder).binding_scope(holder.id)
    if owner is None or isinstance(name, ast.Constant):
        return
    for binding in owner.bindings[holder.id]:
        if binding.kind == "import":
            found = program.finder.find(binding.target, binding.level, str(facts.source.path))
            if found is not None and not found[1] and found[0].endswith(".py"):
                yield from _with_imported(found[0], program)


def _with_imported(path: str, program: Program) -> Iterator[str]:
    """A file, and those that it imports: a package's `__init__` has its models from others."""
    yield path
    yield from sorted(program.imported(Path(path)))


def _in_package(name: str, facts: ModuleFacts, program: Program) -> Iterator[str]:
    """The files of a package of the project."""
    found = program.finder.find(name, 0, str(facts.source.path)) if name else None
    if found is None or found[1]:
        return
    folder = Path(found[0])
    folder = folder.parent if folder.name == "__init__.py" else folder
    yield from sorted(str(path) for path in folder.glob("*.py"))


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
