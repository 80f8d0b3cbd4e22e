"""Def-use: where what is put into a variable, an attribute or a parameter may be read.

In the same file always, and in other files where all reads are asked for: then `None` means that there may be more,
because the project is too large to be searched, or too many files mention the name. Knows nothing of what the readers
do with it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from torchrepro_lint.dataflow.enclosing import ancestors
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reaching_definitions import reads_of_binding, reads_of_object
from torchrepro_lint.dataflow.sites import Site, start_of
from torchrepro_lint.dataflow.store import remembered, remembered_in_file
from torchrepro_lint.index import LoopNode, ModuleFacts, Scope
from torchrepro_lint.project.contents import may_read, reads_attribute
from torchrepro_lint.project.names import Variable

MAX_FILES = 24
_CODE = frozenset({"import", "function", "class"})


def reads_of_target(target: ast.expr, node: ast.AST, scope: Scope, program: Program) -> Sequence[Site]:
    """Where what `node` (mostly a statement) puts into `target`, or into the container that `target` is, is read."""
    match target:
        case ast.Name(ctx=ast.Load()):
            return list(reads_following(target, node, scope))
        case ast.Name(id=name):
            owner = scope.binding_scope(name)
            return reads_of_binding(name, owner, node) if owner is not None else ()
        case ast.Attribute(attr=attr):
            holder = class_of_self(target, scope)
            return self_reads(holder, attr, program) if holder is not None else ()
    return ()


def class_of_self(target: ast.expr, scope: Scope) -> Scope | None:
    """The class whose attribute `self.x` is."""
    if isinstance(target, ast.Attribute) and scope.is_self(target.value):
        holder = scope.binding_scope(target.value.id)  # type: ignore[attr-defined]
        return holder.parent if holder is not None else None
    return None


def reads_following(held: ast.Name, node: ast.AST, scope: Scope) -> Iterator[Site]:
    """Where the object that `held` names may be read after `node`: below, in another function, or in the same loop.
    They may be many, of which a search may need the first."""
    reads, function = reads_of_object(held, scope), scope.function
    begin = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
    for around in ancestors(node, scope):
        if isinstance(around, LoopNode):
            begin = start_of(around)  # of the outermost
    first = 0 if isinstance(function.node, ast.Module) else bisect_left(reads, start_of(function.node), key=_place)
    yield from map(reads.__getitem__, range(first))
    yield from takewhile(lambda site: _place(site) < begin, reads.inside(function))
    yield from map(reads.__getitem__, range(bisect_left(reads, begin, key=_place), len(reads)))


def _place(site: Site) -> tuple[int, int]:
    return start_of(site.node)


@remembered
def self_reads(owner: Scope, attr: str, program: Program) -> Sequence[Site]:
    """Where methods of the class, its bases and its subclasses in the same file read `self.attr`; in these files also
    where `obj.attr` is read of an `obj` that is known to be one."""
    classes = relatives(owner, program)
    files = {id(c.facts): c.facts for c in classes}.values()
    return [site for facts in files for site in _of_any(classes, attr, facts, program)]


def relatives(owner: Scope, program: Program) -> list[Scope]:
    """A class, its bases, and its subclasses in the same file."""
    classes = program.names.classes(owner)
    return classes + [c for c in _derived(owner.facts, program).get(owner, ()) if c not in classes]


@remembered
def _derived(facts: ModuleFacts, program: Program) -> dict[Scope, list[Scope]]:
    """The classes at the top of a file, by those that they derive from, and by themselves."""
    found: dict[Scope, list[Scope]] = {}
    for owner in facts.scope.children.values():
        for base in program.names.classes(owner) if owner.kind == "class" else ():
            found.setdefault(base, []).append(owner)
    return found


def _of_any(classes: Iterable[Scope], attr: str, facts: ModuleFacts, program: Program) -> list[Site]:
    """The reads of an attribute in a file that are of one of these classes, in source order."""
    by_class = _reads_by_class(facts, attr, program)
    numbered = {number: site for owner in classes for number, site in by_class.get(owner, ())}
    return [numbered[number] for number in sorted(numbered)]


@remembered
def _reads_by_class(facts: ModuleFacts, attr: str, program: Program) -> dict[Scope, list[tuple[int, Site]]]:
    """The reads of an attribute in a file, numbered, by the classes whose it may be."""
    found: dict[Scope, list[tuple[int, Site]]] = {}
    for number, node in enumerate(facts.reads(facts.tree).of_attribute(attr)):
        scope = facts.scope_of(node)
        of_self = scope.is_self(node.value)
        owners = {scope.method_class} if of_self else program.makers(node.value, scope)
        for owner in owners:
            if isinstance(owner, Scope):
                found.setdefault(owner, []).append((number, Site(node, scope)))
    return found


@remembered_in_file
def most_reads(facts: ModuleFacts) -> int:
    """How often the variable, or the attribute of `self`, of a file is read that is read most often."""
    counted: Counter[object] = Counter()
    for node in facts.reads(facts.tree).repeated():
        scope = facts.scope_of(node)
        if isinstance(node, ast.Attribute):
            counted[scope.method_class if scope.is_self(node.value) else node, node.attr] += 1
        elif (owner := scope.binding_scope(node.id)) is not None and owner.bindings[node.id][0].kind not in _CODE:
            counted[owner, node.id] += 1
    return max(counted.values(), default=0)


# -- in all files -------------------------------------------------------------------------------------------------
@remembered
def imported_reads(name: str, owner: Scope, program: Program) -> list[Site] | None:
    """The reads of a module's variable in other files."""
    files = _files_with(program, name, owner, may_read)
    if files is None:
        return None
    return [site for facts in files if facts is not owner.facts for site in _imported(program, name, owner, facts)]


def _imported(program: Program, name: str, owner: Scope, facts: ModuleFacts) -> Iterator[Site]:
    found = facts.reads(facts.tree)
    for spelled in (name, *sorted(facts.aliases.get(name, ()))):
        for node in (*found.of_name(spelled), *found.of_attribute(spelled)):
            scope = facts.scope_of(node)
            target = program.resolve(node, scope)
            if isinstance(target, Variable) and target.scope is owner:
                yield Site(node, scope)


@remembered
def attribute_reads(owner: Scope, name: str, program: Program) -> list[Site] | None:
    """The reads of `self.name` in a class and its relatives, and of `obj.name` where `obj` is known to be
    one."""
    files, bases = _files_with(program, name, owner, reads_attribute), program.names.bases
    if files is None:
        return None
    found = []
    for facts in files:
        classes = (c for c in _reads_by_class(facts, name, program) if c.kind == "class")
        related = [c for c in classes if owner in bases(c) or c in bases(owner)]
        found += _of_any(related, name, facts, program)
    return found


def _files_with(program: Program, word: str, owner: Scope, may: Callable[..., bool]) -> list[ModuleFacts] | None:
    """The files that mention `word`, which is defined in `owner`, and may read it; where those are many, only
    the ones that also mention the class that it belongs to, or import the module."""
    here = owner.facts.source.path
    paths = program.project.text.mentioning(word)
    if paths is not None and len(paths) > MAX_FILES:
        knowing = _knowing(program, owner, here)
        paths = [path for path in paths if path == here or knowing(path)]
    if paths is None or len(paths) > MAX_FILES:
        return None
    return list(program.project.load_those(paths or [here], owner.facts, may, word))


def _knowing(program: Program, owner: Scope, here: Path) -> Callable[[Path], bool]:
    project = program.project
    holder = owner if owner.kind == "class" else owner.parent
    if holder is not None and holder.kind == "class":
        return set(project.text.mentioning(holder.own_name) or ()).__contains__
    naming = set(project.text.mentioning(here.parent.name if here.stem == "__init__" else here.stem) or ())
    return lambda path: path in naming and str(here) in project.imported(path)
