"""How Hydra composes a configuration: the defaults list of the primary file, groups, packages, and which entry wins.

Knows the files of one folder and Hydra's rules (hydra.cc/docs/advanced/defaults_list). Where two releases of Hydra
would disagree, nothing is known; where a file of a group is missing, and users name another one, nothing of that group.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from torchrepro_lint.dataflow.grafts import Tree, built, merge, nested, overlay, unsaid
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts

MAX_FILES = 64
_PACKAGE = re.compile(r"#\s*@package\s+(\S+)")
_SELF = "_self_"
_MISSING = "???"  # what the user must name

Find: TypeAlias = "Callable[[str], ModuleFacts | None]"
"""A file of the folder of configurations, by its name without the suffix."""

Options: TypeAlias = "Callable[[str], list[str]]"
"""The names of the files of a group, which is a folder in that one."""


class _Unknown(Exception):
    """The configuration cannot be told."""


class _Choice(NamedTuple):
    """One entry of a defaults list: `option` of `group`, put at `package`."""

    group: str
    option: str
    package: str | None
    is_optional: bool


def composed(name: str, find: Find, options: Options, *, since_1_1: bool = False) -> Site | None:
    """The configuration that the primary file `name` makes, by default; of any release, or of those since 1.1."""
    primary = find(name)
    if primary is None:
        return None
    composer = _Composer(find, options, primary, since_1_1)
    try:
        tree = composer.tree(primary, "", ())
    except _Unknown:
        return None
    tree.pop("hydra", None)
    return built(tree, primary)


class _Composer:
    def __init__(self, find: Find, options: Options, primary: ModuleFacts, since_1_1: bool) -> None:
        self._find = find
        self._options = options
        self._primary = primary
        self._since_1_1 = since_1_1
        self._count = 0
        self._overrides: dict[str, list[str]] = {}  # the options of a group that a file says for another one's entry

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
        layers = self._layers(top.value, group, package)
        is_said = None in layers or self._since_1_1 or self._overrides  # which Hydra has since 1.1
        # before 1.1 the others win, and since then the file itself
        disputed = [] if is_said else [self._disputed(own, layer) for layer in layers if layer is not None]
        made: Tree = {}
        for layer in [*layers] if None in layers else [*layers, None]:
            overlay(made, own if layer is None else layer)
        for entries in disputed:
            overlay(made, entries)
        return made

    def _disputed(self, first: Tree, second: Tree) -> Tree:
        """The entries of which both say something; what they are is not known."""
        disputed: Tree = {}
        for key in first:
            one, two = first[key], second.get(key)
            if isinstance(one, dict) and isinstance(two, dict):
                disputed[key] = self._disputed(one, two)
            elif two is not None:
                disputed[key] = unsaid(self._primary)
        return disputed

    def _layers(self, top: ast.Dict, group: str, package: tuple[str, ...]) -> list[Tree | None]:
        """What the defaults list names, in order; None for the file itself. Its last entry is looked at first, as by
        Hydra: it may override those before it."""
        items = [self._given(item, group) for item in _listed(top)]
        for item in items:
            for overridden, options in _overrides(item, group):
                self._overrides.setdefault(overridden, options)
        layers: list[Tree | None] = []
        for item in reversed(items):
            for choice in reversed(list(_choices(item, group, self._overrides))):
                if choice.option == _SELF:
                    layers.append(None)
                elif not _is_of_hydra(choice.group, group):
                    layers.append(self._chosen(choice, group, package))
        return layers[::-1]

    def _given(self, item: ast.expr, outer: str) -> ast.expr:
        """An entry of a defaults list; where the user must name an option, and the group has one, with that."""
        match item:
            case ast.Dict(keys=[ast.Constant(value=str(key)) as group], values=[ast.Name(id=name)]) if name == _MISSING:
                options = self._options(_below(outer, key.split()[-1].partition("@")[0]))
                return ast.Dict([group], [ast.Constant(options[0])]) if len(options) == 1 else item
        return item

    def _chosen(self, choice: _Choice, group: str, package: tuple[str, ...]) -> Tree:
        name = _below(group, choice.group, choice.option)
        below = tuple(part for part in choice.group.strip("/").split("/") if part)
        at = (*package, *below) if choice.package is None else _named(choice.package, below, package)
        facts = self._find(name)
        if facts is not None:
            return self.tree(facts, name.rpartition("/")[0], at)
        if choice.is_optional:
            return {}
        if not choice.group or not at:
            raise _Unknown
        return nested(at[:-1], {at[-1]: unsaid(self._primary)})


def _below(outer: str, *parts: str) -> str:
    """The path of an option, or a group, that a file of the group `outer` names."""
    first = "" if any(part.startswith("/") for part in parts) else outer
    return "/".join(part for part in (first, *(part.strip("/") for part in parts)) if part)


def _overrides(item: ast.expr, outer: str) -> Iterator[tuple[str, list[str]]]:
    """The group that an entry of a defaults list overrides, if it does, and what is chosen instead."""
    match item:
        case ast.Dict(keys=[ast.Constant(value=str(key))], values=[value]) if "override" in key.split()[:-1]:
            group = key.split()[-1]
            if not _is_of_hydra(group, outer):
                if "@" in group:
                    raise _Unknown
                yield _below(outer, group), _options(value, is_of_hydra=False)


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


def _choices(item: ast.expr, outer: str, overrides: Mapping[str, list[str]]) -> Iterator[_Choice]:
    match item:
        case ast.Constant(value=str(name)):
            name, _, package = name.partition("@")
            yield _Choice("", name, package or None, False)
        case ast.Dict(keys=[ast.Constant(value=str(key))], values=[value]):
            words = key.split()
            group, _, package = words[-1].partition("@")
            if "override" in words[:-1]:
                return
            other = overrides.get(_below(outer, group)) if not package else None
            for option in _options(value, is_of_hydra=_is_of_hydra(group, outer)) if other is None else other:
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
