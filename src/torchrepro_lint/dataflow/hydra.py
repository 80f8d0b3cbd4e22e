"""How Hydra composes a configuration: the defaults list of the primary file, groups, packages, and which entry wins.

Knows the files of one folder and Hydra's rules (hydra.cc/docs/advanced/defaults_list). Where a file is missing, or two
releases of Hydra would disagree, nothing is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow.grafts import Tree, built, merge, nested, overlay
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts

MAX_FILES = 64
_PACKAGE = re.compile(r"#\s*@package\s+(\S+)")
_SELF = "_self_"

Find: TypeAlias = "Callable[[str], ModuleFacts | None]"
"""A file of the folder of configurations, by its name without the suffix."""


class _Unknown(Exception):
    """The configuration cannot be told."""


class _Choice(NamedTuple):
    """One entry of a defaults list: `option` of `group`, put at `package`."""

    group: str
    option: str
    package: str | None
    is_optional: bool


def composed(name: str, find: Find) -> Site | None:
    """The configuration that the primary file `name` makes, by default."""
    primary = find(name)
    if primary is None:
        return None
    composer = _Composer(find)
    try:
        tree = composer.tree(primary, "", ())
    except _Unknown:
        return None
    tree.pop("hydra", None)
    return built(tree, primary)


class _Composer:
    def __init__(self, find: Find) -> None:
        self._find = find
        self._count = 0

    def tree(self, facts: ModuleFacts, group: str, package: tuple[str, ...]) -> Tree:
        """What a file and its defaults make; `package` is where its own entries go."""
        self._count += 1
        top = facts.tree.body[0]
        if self._count > MAX_FILES or not isinstance(top, ast.Expr) or not isinstance(top.value, ast.Dict):
            raise _Unknown
        own: Tree = {}
        merge(own, Site(top.value, facts.scope))
        own.pop("defaults", None)
        own = nested(_package(facts, package), own)
        layers = list(self._layers(top.value, group, package))
        made: Tree = {}
        for layer in [*layers] if None in layers else [*layers, None]:
            overlay(made, own if layer is None else layer)
        if None not in layers and any(_contradicts(own, layer) for layer in layers if layer is not None):
            raise _Unknown  # before Hydra 1.1 the others win, and since then the file itself
        return made

    def _layers(self, top: ast.Dict, group: str, package: tuple[str, ...]) -> Iterator[Tree | None]:
        """What the defaults list names, in order; None for the file itself."""
        for item in _listed(top):
            for choice in _choices(item, group):
                if choice.option == _SELF:
                    yield None
                elif not _is_of_hydra(choice.group, group):
                    yield self._chosen(choice, group, package)

    def _chosen(self, choice: _Choice, group: str, package: tuple[str, ...]) -> Tree:
        outer = "" if choice.group.startswith("/") or choice.option.startswith("/") else group
        name = "/".join(part for part in (outer, choice.group.strip("/"), choice.option.strip("/")) if part)
        facts = self._find(name)
        if facts is None:
            if choice.is_optional:
                return {}
            raise _Unknown
        inner = name.rpartition("/")[0]
        below = tuple(part for part in choice.group.strip("/").split("/") if part)
        at = (*package, *below) if choice.package is None else _named(choice.package, below, package)
        return self.tree(facts, inner, at)


def _listed(top: ast.Dict) -> list[ast.expr]:
    for key, value in zip(top.keys, top.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "defaults":
            if not isinstance(value, ast.List):
                raise _Unknown
            return value.elts
    return []


def _is_of_hydra(chosen: str, group: str) -> bool:
    """Whether what is chosen from a group, in a file of another, is about Hydra itself."""
    inside = bool(chosen) and not chosen.startswith("/") and f"{group}/".startswith("hydra/")
    return inside or chosen.removeprefix("/").startswith("hydra/")


def _choices(item: ast.expr, outer: str) -> Iterator[_Choice]:
    match item:
        case ast.Constant(value=str(name)):
            name, _, package = name.partition("@")
            yield _Choice("", name, package or None, False)
        case ast.Dict(keys=[ast.Constant(value=str(key))], values=[value]):
            words = key.split()
            group, _, package = words[-1].partition("@")
            is_of_hydra = _is_of_hydra(group, outer)
            if "override" in words[:-1] and not is_of_hydra:
                raise _Unknown
            for option in _options(value, is_of_hydra=is_of_hydra):
                yield _Choice(group, option, package or None, "optional" in words[:-1])
        case _:
            raise _Unknown


def _options(value: ast.expr, *, is_of_hydra: bool) -> list[str]:
    match value:
        case ast.Constant(value=None):
            return []
        case ast.Constant(value=str() | int() as option):
            return [str(option)]
        case ast.List(elts=items) if all(isinstance(i, ast.Constant) for i in items):
            return [str(i.value) for i in items if isinstance(i, ast.Constant)]
    if is_of_hydra:
        return []
    raise _Unknown


def _package(facts: ModuleFacts, given: tuple[str, ...]) -> tuple[str, ...]:
    """Where a file's own header puts it."""
    header = next((m for line in facts.source.text.splitlines()[:5] if (m := _PACKAGE.match(line))), None)
    return given if header is None else _named(header[1], given, ())


def _named(package: str, group: tuple[str, ...], outer: tuple[str, ...]) -> tuple[str, ...]:
    if package == "_global_":
        return ()
    if package == "_group_":
        return group
    if package == "_here_":
        return outer
    return (*outer, *package.removeprefix("_global_.").split("."))


def _contradicts(first: Tree, second: Tree) -> bool:
    """Whether both say something of one entry."""
    for key in first.keys() & second.keys():
        one, two = first[key], second[key]
        if not (isinstance(one, dict) and isinstance(two, dict)) or _contradicts(one, two):
            return True
    return False
