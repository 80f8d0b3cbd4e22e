"""Values that are put together from several configuration files: what a composed mapping holds is written elsewhere.

Such a value may be given another one on the command line. So it is an expression that means nothing by itself, and
only `defaults` looks at what it stands for. Knows how mappings are merged, and which entry wins; not which mappings
are merged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts, Scope

MAX_REFERENCES = 8
_REFERENCE = re.compile(r"\$\{([\w.-]+)\}")
Tree: TypeAlias = "dict[str, Tree | Site]"


class Graft(ast.Name):
    """Stands for what is written at `site`, in a file of its own."""

    site: Site


class Unsaid(ast.Name):
    """What stands in a file that is not there."""


def unsaid(facts: ModuleFacts) -> Site:
    """Something in the configuration that the file of `facts` makes, of which nothing is known."""
    top = facts.tree.body[0]
    made = ast.copy_location(Unsaid(" ", ast.Load()), top)
    facts.parents.adopt(made, top)
    return Site(made, facts.scope)


def graft(site: Site) -> Graft:
    """An expression that stands for another one, and has its place."""
    if isinstance(site.node, Graft):
        return site.node
    made = ast.copy_location(Graft(" ", ast.Load()), site.node)
    made.site = site
    site.scope.facts.parents.adopt(made, site.node)
    return made


def merge(into: Tree, site: Site) -> None:
    """Put the entries of a mapping over those that are there; what is written out in both is merged."""
    overlay(into, _tree_of(site))


def _tree_of(site: Site) -> Tree:
    entries = written_entries(site.node, site.scope)
    return {key: _tree_of(held) if isinstance(held.node, ast.Dict) else held for key, held in entries}


def written_entries(mapping: ast.expr, scope: Scope) -> Iterator[tuple[str, Site]]:
    """The entries of a mapping that have a text as their key, where they are written."""
    assert isinstance(mapping, ast.Dict)
    for key, value in zip(mapping.keys, mapping.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value.site if isinstance(value, Graft) else Site(value, scope)


def nested(names: Iterable[str], tree: Tree) -> Tree:
    """The tree at a place in another one: `a.b` of the package that a file belongs to."""
    for name in reversed(list(names)):
        tree = {name: tree}
    return tree


def overlay(into: Tree, tree: Tree) -> None:
    """The same as `merge` for a tree."""
    for key, value in tree.items():
        inner = into.get(key)
        if isinstance(value, dict) and isinstance(inner, dict):
            overlay(inner, value)
        elif not (isinstance(value, dict) and inner is not None and _is_unsaid(inner)):
            into[key] = value


def _is_unsaid(held: Tree | Site) -> bool:
    return isinstance(held, Site) and isinstance(held.node, Unsaid)


def built(tree: Tree, facts: ModuleFacts) -> Site:
    """The mapping that a tree is, as a person would look for it in the file of `facts`."""
    top = facts.tree.body[0]
    assert isinstance(top, ast.Expr)
    return _Building(tree, Site(top.value, facts.scope)).mapping(tree)


class _Building:
    """A composed mapping, whose top is `root`, while it is put together; everything in it is looked for at `place`."""

    def __init__(self, root: Tree, place: Site) -> None:
        self._root = root
        self._place = place
        self._meant: dict[int, Site | None] = {}  # the mappings that others refer to; None while one is made

    def mapping(self, tree: Tree) -> Site:
        node, scope = self._place
        values = [self._value(value) for value in tree.values()]
        keys: list[ast.expr | None] = [ast.copy_location(ast.Constant(key), node) for key in tree]
        made = ast.copy_location(ast.Dict(keys, list(values)), node)
        scope.facts.parents.adopt(made, node)
        return Site(made, scope)

    def _value(self, value: Tree | Site) -> ast.expr:
        if isinstance(value, dict):
            return self.mapping(value).node
        found = _referred(value, self._root)
        meant = self._referred_mapping(found) if isinstance(found, dict) else found
        return graft(meant or value)

    def _referred_mapping(self, tree: Tree) -> Site | None:
        """What `${model}` stands for, made once; None where it is in itself."""
        if id(tree) not in self._meant:
            self._meant[id(tree)] = None
            self._meant[id(tree)] = self.mapping(tree)
        return self._meant[id(tree)]


def _referred(site: Site, root: Tree) -> Tree | Site:
    """What `${other.key}` stands for; itself where that is not one entry of the configuration."""
    found: Tree | Site | None = site
    for _ in range(MAX_REFERENCES):
        name = found.node.id if isinstance(found, Site) and isinstance(found.node, ast.Name) else ""
        reference = _REFERENCE.fullmatch(name)
        if reference is None:
            break
        found = root
        for part in reference[1].split("."):
            found = found.get(part) if isinstance(found, dict) else None
    return found if found is not None else site
