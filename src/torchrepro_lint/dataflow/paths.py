"""The domain of paths: which file an expression names, as text with `ANY` for what is not known.

A file that is opened, and the text that is read from it, are the path they come from: whoever asks wants to know which
file it is. Knows nothing of what is in files.
"""

from __future__ import annotations

import ast
import os.path
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from torchrepro_lint.dataflow.domain import Domain, Of
from torchrepro_lint.index import Binding, Scope, keyword_value
from torchrepro_lint.project.declarations import declared_options
from torchrepro_lint.project.listed import ANY

Patterns: TypeAlias = "tuple[str, ...]"
MAX_PATHS = 16
_UNKNOWN = (ANY,)
_JOINS = frozenset({"os.path.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"})
# What gives back the path, or what lies there.
_SAME = frozenset({"builtins.open", "io.open", "codecs.open", "builtins.str", "os.fspath", "os.path.abspath",
                   "os.path.realpath", "os.path.normpath", "os.path.expanduser", "os.path.expandvars",
                   "hydra.utils.to_absolute_path"})  # fmt: skip
_SAME_METHODS = frozenset({"resolve", "absolute", "as_posix", "expanduser", "open", "read", "read_text", "read_bytes",
                           "format"})  # fmt: skip
_PARTS: dict[str, Callable[[str], str]] = {
    "parent": os.path.dirname,
    "name": os.path.basename,
    "stem": lambda path: os.path.splitext(os.path.basename(path))[0],  # noqa: PTH119, PTH122
}
_HERE = frozenset({"os.getcwd", "pathlib.Path.cwd", "hydra.utils.get_original_cwd"})
# What gives the folder of the project, which is found by a file in it, as `.git` or `pyproject.toml`.
_ROOTS = frozenset({"pyrootutils.setup_root", "pyrootutils.find_root", "rootutils.setup_root", "rootutils.find_root"})


@dataclass(frozen=True)
class Paths(Domain[Patterns]):
    """Joined by "one of them". With `defaults`, options name the file that they name by default."""

    defaults: bool = False
    opens = False

    def join(self, values: Sequence[Patterns]) -> Patterns:
        found = tuple(dict.fromkeys(path for paths in values for path in paths))
        return found if len(found) <= MAX_PATHS else _UNKNOWN

    def unknown(self, node: ast.AST, scope: Scope) -> Patterns:
        is_own = isinstance(node, ast.Name) and node.id == "__file__"
        return (str(scope.facts.source.path),) if is_own else _UNKNOWN

    def again(self, found: Patterns) -> Patterns:
        return _UNKNOWN

    def constant(self, value: object, node: ast.expr, scope: Scope) -> Patterns:
        return (value,) if isinstance(value, str) else (str(value),) if isinstance(value, int) else _UNKNOWN

    def operator(self, node: ast.AST, scope: Scope, of: Of[Patterns]) -> Patterns:
        match node:
            case ast.BinOp(left=left, op=ast.Div() | ast.Add() as op, right=right):
                into = _joined if isinstance(op, ast.Div) else "".join
                return self._combined([of(left, scope), of(right, scope)], into)
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
                return (text.replace("%s", ANY).replace("%d", ANY),)
            case ast.JoinedStr(values=parts):
                return self._combined([of(part, scope) for part in parts], "".join)
            case ast.FormattedValue(value=value, format_spec=None):
                return of(value, scope)
        return _UNKNOWN

    def known_attribute(self, node: ast.Attribute, scope: Scope, of: Of[Patterns]) -> Patterns | None:
        part = _PARTS.get(node.attr)
        return tuple(map(part, of(node.value, scope))) if part is not None else None

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[Patterns]) -> Patterns:
        match container, key:
            case ast.Attribute(attr="parents", value=path), ast.Constant(value=int(number)) if 0 <= number < 9:
                found = of(path, scope)
                for _ in range(number + 1):
                    found = tuple(map(os.path.dirname, found))
                return found
        return _UNKNOWN

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[Patterns]) -> Patterns:
        return self._option(node.attr, scope)

    def parameter(self, binding: Binding, function: Scope, of: Of[Patterns]) -> Patterns:
        is_decorated = bool(getattr(function.node, "decorator_list", ()))
        given = self._option(getattr(binding.node, "arg", ""), function) if is_decorated else _UNKNOWN
        if given != _UNKNOWN:
            return given
        return of(binding.value, function.parent or function) if self.defaults and binding.value else _UNKNOWN

    def _option(self, name: str, scope: Scope) -> Patterns:
        option = declared_options(scope.facts).get(name) if self.defaults else None
        return (option.value,) if option is not None and isinstance(option.value, str) else _UNKNOWN

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Patterns]) -> Patterns | None:
        """Methods of a path, of a text and of a file."""
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
                return (_formatted(text),)
            case ast.Call(func=ast.Attribute(value=path, attr="joinpath"), args=parts):
                return self._combined([of(path, scope), *(of(part, scope) for part in parts)], _joined)
            case ast.Call(func=ast.Attribute(value=path, attr=method)) if method in _SAME_METHODS:
                found = of(path, scope)
                return found if found != _UNKNOWN else None
        return None

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[Patterns]) -> Patterns:
        if callee in _HERE:
            return ("",)
        if callee in _ROOTS:
            return (str(scope.facts.source.path).removesuffix(os.path.normpath(scope.facts.source.rel)),)
        first = keyword_value(call, "file", "path")
        parts = call.args or ([first] if first is not None else [])
        if not parts or any(isinstance(part, ast.Starred) for part in parts):
            return _UNKNOWN
        if callee in _JOINS:
            return self._combined([of(part, scope) for part in parts], _joined)
        if callee in _SAME:
            return of(parts[0], scope)
        if callee == "os.path.dirname":
            return tuple(map(os.path.dirname, of(parts[0], scope)))
        return _UNKNOWN

    def _combined(self, parts: Sequence[Patterns], into: Callable[[Sequence[str]], str]) -> Patterns:
        if prod(map(len, parts)) > MAX_PATHS:
            return _UNKNOWN
        return tuple(dict.fromkeys(map(into, product(*parts))))


def _joined(parts: Sequence[str]) -> str:
    return os.path.join(*parts)  # noqa: PTH118


def _formatted(text: str) -> str:
    """`"configs/{}.yaml"`, with the parts that are filled in unknown."""
    first, *others = text.split("{")
    return first + "".join(ANY + part.partition("}")[2] for part in others)
