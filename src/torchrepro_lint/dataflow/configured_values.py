"""What configuration files say, where a program reads them: the way from `yaml.safe_load(file)` to what is in the file.

Knows the catalogue's readers and which entries a program sets itself; what is in a file is written out in its facts, so
that the evaluation follows it like a dict in the code.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Origin, is_configured
from torchrepro_lint.dataflow.binding import passed_by_name
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.dataflow.paths import Patterns
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.store import remembered_in_file
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.project.importers import MAX_USERS
from torchrepro_lint.project.listed import ANY
from torchrepro_lint.project.project import Project
from torchrepro_lint.tracking import Memo

PathOf: TypeAlias = "Callable[[ast.expr, Scope], Patterns]"
OriginsOf: TypeAlias = "Callable[[ast.expr, Scope], list[Origin]]"
MAX_CLASSES = 8
_KEY = re.compile(r"[\w-]+")
_USUAL = "cfg|conf|config|opts?|hparams|params"
_FILLS = (b"update", b"merge", b"setattr", b"override")
# A project whose text has none of these reads no configuration.
_READS = re.compile(
    rb"(?:yaml|json|toml\w*|tomli)\.\w*load|from (?:yaml|hydra)|(?:hydra|OmegaConf)\.|import OmegaConf|LightningCLI"
)
_SIGNS = (b"yaml", b"json", b"toml", b"hydra", b"omegaconf", b"lightningcli")


@cache
def rows(kind: str) -> Mapping[str, Mapping[str, Any]]:
    """The catalogue's functions of one kind."""
    return catalogue.names("configurations", kind)


class ConfiguredValues:
    """Answers for one project; `path_of` says which file an expression names."""

    def __init__(self, project: Project, path_of: PathOf) -> None:
        self._project = project
        self.path_of = path_of
        self._beside: Memo[frozenset[Path] | None] = Memo(project.tracker)

    def are_any(self) -> bool:
        """Whether the project may read configurations at all."""
        return self._project.text.any_match(_READS, _SIGNS) is True

    # -- calls ---------------------------------------------------------------------------------------------------
    def read(self, callee: str, call: ast.Call, scope: Scope, origins: OriginsOf) -> list[Site] | None:
        """What a call gives that reads a file, or hands on what was read; None where that is not known."""
        named = rows("wrappers").get(callee, {}).get("arguments", ())
        first = passed_by_name(call, *named).get(named[-1]) if named else _first(call)
        if first is None:
            return None
        if callee in rows("readers"):
            return self.files(self.path_of(first, scope), scope)
        held = origins(first, scope)
        return [Site(first, scope)] if held and all(is_configured(o) for o in held) else None

    def parsed(self, call: ast.Call, scope: Scope) -> list[Site] | None:
        """What a parser reads from a file: the same options for each of the classes that share them."""
        first = _first(call)
        found = self.files(self.path_of(first, scope), scope) if first is not None else None
        if found is None or len(found) > 1:
            return None
        ((node, where),) = found
        return [Site(ast.copy_location(ast.Tuple([node] * MAX_CLASSES, ast.Load()), node), where)]

    def files(self, paths: Patterns, scope: Scope) -> list[Site] | None:
        """What is in the files that are meant by paths in the code of `scope`; None where one is not known."""
        found: dict[Site, None] = {}
        for path in paths:
            meant = self._project.configurations.meant(path, scope.facts.source.path)
            if not meant or (ANY in path and len(paths) > 1):
                return None
            found |= dict.fromkeys(map(contents, meant))
        return list(found) or None

    # -- what a program sets -------------------------------------------------------------------------------------
    def sets(self, holder: ast.expr, key: str, scope: Scope) -> bool:
        """Whether a program itself may set an entry of what `holder` holds, in code of `scope` or in any that may run
        with it: then the file does not say what it is."""
        if not _KEY.fullmatch(key):
            return True
        own = [re.escape(name) for name in _names_of(holder)]
        names = "|".join(dict.fromkeys([_USUAL, *own]))
        path, text = scope.facts.source.path, self._project.text
        set_to = _set_to(names, "|".join(own), key)
        files = text.matching(set_to, (key.encode().lower(),))
        if files and path in files and _is_further_down(set_to, holder, scope):
            files = [file for file in files if file != path]
        if self._is_beside(files, path):
            return True
        ways = [(_filled(_USUAL), _FILLS), *((_filled(name), (name.encode().lower(),)) for name in own)]
        return any(self._is_beside(text.matching(*way), path) for way in ways)

    def _is_beside(self, files: list[Path] | None, path: Path) -> bool:
        """Whether any of these files may run in one program with another, for all that is imported."""
        if not files:
            return files is None
        beside = self._beside.get(path, self._all_beside, (path,))
        return beside is None or not beside.isdisjoint(files)

    def _all_beside(self, path: Path) -> frozenset[Path] | None:
        users = self._project.users([path])
        if len(users) >= MAX_USERS:
            return None
        return frozenset().union(*map(self._project.reachable, (path, *users)))


@cache
def _set_to(names: str, own: str, key: str) -> re.Pattern[bytes]:
    """`config["key"] = ...`, `cfg.train.key = ...`; not `logged["key"] = config.get("key")`, which only copies it"""
    quoted = rf"\s*[\"']{key}[\"']\s*"
    copied = rf"[ \t]*(?:self\.)?(?:{own})(?:\.get\({quoted}\)|\[{quoted}\]|\.{key})[ \t]*\r?$"
    item = rf"\[{quoted}\]\s*(?:[-+*/|]?=)(?!=)(?!{copied})"
    attribute = rf"(?<![\w.])(?:self\.)?(?:{names})(?:\.\w+)*\.{key}\s*(?:[-+*/|]?=)(?!=)"
    return re.compile(rf"(?m:{item}|{attribute})".encode())


def _is_further_down(pattern: re.Pattern[bytes], read: ast.expr, scope: Scope) -> bool:
    """Whether a file sets an entry only in the function that reads it, and below: `if cfg.seed is None: cfg.seed = 1`.
    Then the file still says what is read."""
    last = getattr(scope.function.node, "end_lineno", None) or sys.maxsize
    is_below = all(read.lineno < number <= last for number in _lines_with(pattern, scope.facts))
    return is_below and next(loops_around(scope.facts, read), None) is None


@remembered_in_file
def _lines_with(pattern: re.Pattern[bytes], facts: ModuleFacts) -> list[int]:
    """The numbers of the lines whose code has a match."""
    code = (line.partition("#")[0].encode(errors="surrogateescape") for line in facts.source.whole.split("\n"))
    return [number for number, line in enumerate(code, 1) if pattern.search(line)]


@cache
def _filled(names: str) -> re.Pattern[bytes]:
    """`cfg.merge_from_list(...)`, `config.update(...)`, `setattr(cfg, ...)`"""
    held = rf"(?:self\.)?(?:{names})(?:\.\w+|\[[^\]]{{0,80}}\])*"
    method = rf"(?<![\w.]){held}\.(?:update|merge\w*)\("
    passed = rf"\b(?:setattr|\w{{0,80}}(?:update|merge|override)\w{{0,80}})\(\s*{held}\s*[,)]"
    return re.compile(rf"{method}|{passed}".encode())


def _names_of(holder: ast.expr) -> list[str]:
    """The names that `self.cfg["train"]` goes by: the variable's, and the last attribute's."""
    found: list[str] = []
    while isinstance(holder, ast.Attribute | ast.Subscript | ast.Call):
        found += [holder.attr] if isinstance(holder, ast.Attribute) and not found else []
        holder = holder.func if isinstance(holder, ast.Call) else holder.value
    return [*found, holder.id] if isinstance(holder, ast.Name) and holder.id != "self" else found


def contents(facts: ModuleFacts) -> Site:
    """What is in a configuration file."""
    statement = facts.tree.body[0]
    assert isinstance(statement, ast.Expr)
    return Site(statement.value, facts.scope)


def _first(call: ast.Call) -> ast.expr | None:
    """The first argument, or what alone is unpacked into a call."""
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return call.keywords[0].value if call.keywords else None
