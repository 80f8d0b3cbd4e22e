"""Which functions and classes a program may run, as far as names tell: what its files do when they are loaded names
some, these name others, and so on. A value that is made up at run time is not followed: `getattr(models, name)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

from torchrepro_lint.dataflow.reached import reached
from torchrepro_lint.index import ModuleFacts, Scope

_Part = tuple[ModuleFacts, ast.AST]  # of a file: a statement that stands in no other, or a name that one imports


def part_of(facts: ModuleFacts, node: ast.AST) -> ast.AST:
    """The function, class or other statement of a file that `node` lies in, which stands in no other."""
    return next(part for part in (node, *facts.parents.above(node)) if facts.parents.get(part) is facts.tree)


def named_by(entry: ModuleFacts, files: Iterable[ModuleFacts], run: Iterable[Scope]) -> set[ast.AST]:
    """The statements at the top of the files of a program that may run when `entry` does, and these functions, but for
    methods of classes of which it makes no object, which others hand to the same functions. What is decorated may be
    registered, and is taken to run."""
    run = list(run)
    made = {function.method_class for function in run if function.own_name == "__init__"}
    starts = [(f.facts, part_of(f.facts, f.node)) for f in run if _may_be_made(f.method_class, made)]
    named: dict[str, list[_Part]] = {}
    for facts in files:
        for part in facts.tree.body:
            defined = list(_defined(part))
            for name, node in defined:
                named.setdefault(name, []).append((facts, node))
            is_run = not defined or bool(getattr(part, "decorator_list", None))
            if is_run and (facts is entry or part is not facts.guard):
                starts.append((facts, part))
    found = reached(starts, lambda part: _leads_to(*part, named))
    return {part_of(facts, part) for facts, part in found}


def _may_be_made(owner: Scope | None, made: Set[Scope | None]) -> bool:
    """Whether a program may make objects of a class: its constructor is among those that run, or it has none."""
    return owner is None or owner in made or "__init__" not in owner.bindings


def _defined(part: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """The names by which others may mean a statement, or each of those that it imports."""
    match part:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield part.name, part
        case ast.Import() | ast.ImportFrom():
            yield from ((a.asname or a.name.partition(".")[0], a) for a in part.names if a.name != "*")


def _leads_to(facts: ModuleFacts, part: ast.AST, named: dict[str, list[_Part]]) -> list[_Part]:
    """What a statement, or what is imported, names."""
    names = [part.name.rpartition(".")[2]] if isinstance(part, ast.alias) else facts.reads(part).every_name()
    return [other for name in names for other in named.get(name, ())]
