"""A configuration file as facts: what is in it, as if it were written out in a Python expression at the same places.

So a value that a program reads from YAML, JSON or TOML is followed, shown and edited like one in its own code. What
such a file only refers to (`${other.key}` of OmegaConf, a tag of its own) is a name without a meaning. Knows the three
formats, and neither which program reads a file nor what it makes of it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from torchrepro_lint.elements import Position
from torchrepro_lint.index.facts import ModuleFacts, ParseError
from torchrepro_lint.reading import YAML
from torchrepro_lint.source import SourceFile

MAX_VALUES = 20_000  # with what aliases repeat: a file of a few lines can stand for billions
MAX_DEPTH = 60
NO_YAML = "PyYAML is not installed: `pip install 'torchrepro-lint[yaml]'`"
_LONGEST_NUMBER = 40
_TAG = "tag:yaml.org,2002:"
_JSON_NAMES = {"true": True, "false": False, "null": None}
_REFERS = ("${", "???")  # of OmegaConf: another key, and a value that the command line must give
_TOML_HEADER = re.compile(r"\s*\[(?P<array>\[)?\s*(?P<name>[^\[\]]+?)\s*\]")
_TOML_ENTRY = re.compile(r"\s*(?P<key>[\w.\"'-]+)\s*=\s*(?P<value>\"[^\"\\]*\"|'[^']*'|[^\s#\"'\[{,]+)\s*(?:#.*)?$")


def configuration(source: SourceFile) -> ModuleFacts:
    """The facts of a configuration file. Raises ParseError."""
    read = {".json": _json, ".toml": _toml}.get(source.path.suffix, _yaml)
    try:
        value = read(source)
    except RecursionError:
        raise ParseError("nested too deeply") from None
    return ModuleFacts(source, ast.Module([ast.copy_location(ast.Expr(value), value)], []), statements={})


def unknown(refers_to: str = "") -> ast.Name:
    """A value that is not known from the file alone; `refers_to` as it is written."""
    return ast.Name(refers_to or "???", ast.Load())


# -- places ------------------------------------------------------------------------------------------------------
class _Places:
    """From offsets in the text to the places of `ast`, whose columns count bytes."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._count = 0

    def put(self, node: ast.expr, start: int, end: int) -> Any:
        """The node, with its place."""
        self._count += 1
        if self._count > MAX_VALUES:
            raise ParseError(f"more than {MAX_VALUES} values")
        node.lineno, node.col_offset = self._at(start)
        node.end_lineno, node.end_col_offset = self._at(end)
        return node

    def _at(self, offset: int) -> tuple[int, int]:
        line, column = self._source.position(min(offset, len(self._source.text)))
        return line, len(self._source.line(line)[: column - 1].encode(errors="replace"))


def _scalar(value: object) -> ast.expr:
    """A constant, or a name for what is none to Python."""
    if isinstance(value, str) and any(sign in value for sign in _REFERS):
        return unknown(value)
    return ast.Constant(value) if value is None or isinstance(value, str | bool | int | float) else unknown()


# -- YAML ----------------------------------------------------------------------------------------------------------
class _Alias(NamedTuple):
    of: Any


def _loader() -> Any:
    """PyYAML's safe loader, the fast one where it was built; imported only when a file is asked for."""
    for name in YAML:
        with suppress(ImportError):
            yaml: Any = import_module(name)
            return yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raise ParseError(NO_YAML)


def _yaml(source: SourceFile) -> ast.expr:
    yaml, kind = _loader()
    try:
        loader = kind(source.text)
        try:
            top = _composed(yaml, loader)
            return _converted(top, yaml, loader, _Places(source), 0)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = Position(mark.line + 1, mark.column + 1) if mark is not None else None
        raise ParseError(str(getattr(error, "problem", None) or "not YAML"), where) from None


def _composed(yaml: Any, loader: Any) -> Any:
    """The nodes of the only document. From events: a composer calls itself for each level of nesting."""
    loader.get_event()
    if isinstance(loader.peek_event(), yaml.StreamEndEvent):
        raise ParseError("empty")
    loader.get_event()
    anchors: dict[str, Any] = {}
    open_nodes: list[tuple[Any, list[Any]]] = []
    while True:
        event = loader.get_event()
        if isinstance(event, yaml.CollectionEndEvent):
            node, items = open_nodes.pop()
            node.end_mark = event.end_mark
            node.value = list(zip(items[::2], items[1::2], strict=True)) if node.id == "mapping" else items
            done = node
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ParseError(f"`*{event.anchor}` stands for nothing")
            done = _Alias(anchors[event.anchor])
        else:
            done = _opened(yaml, loader, event)
            if event.anchor is not None:
                anchors[event.anchor] = done
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((done, []))
                if len(open_nodes) > MAX_DEPTH:
                    raise ParseError("nested too deeply")
                continue
        if not open_nodes:
            break
        open_nodes[-1][1].append(done)
    loader.get_event()
    if not isinstance(loader.get_event(), yaml.StreamEndEvent):
        raise ParseError("several documents")
    return done


def _opened(yaml: Any, loader: Any, event: Any) -> Any:
    """The node that an event begins; of a scalar, all of it."""
    is_plain = event.tag in (None, "!")
    if isinstance(event, yaml.ScalarEvent):
        tag = loader.resolve(yaml.ScalarNode, event.value, event.implicit) if is_plain else event.tag
        return yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
    kind, name = (yaml.MappingNode, "map") if isinstance(event, yaml.MappingStartEvent) else (yaml.SequenceNode, "seq")
    return kind(_TAG + name if is_plain else event.tag, [], event.start_mark, event.end_mark)


def _converted(node: Any, yaml: Any, loader: Any, places: _Places, depth: int) -> ast.expr:
    if depth > MAX_DEPTH:
        raise ParseError("nested too deeply")
    if isinstance(node, _Alias):
        return _converted(node.of, yaml, loader, places, depth + 1)
    found: ast.expr
    if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
        entries = list(_entries(node, yaml, loader, places, depth))
        found = ast.Dict([key for key, _ in entries], [value for _, value in entries])
    elif isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        found = ast.List([_converted(item, yaml, loader, places, depth + 1) for item in node.value], ast.Load())
    else:
        found = _scalar(_constructed(node, loader))
    return places.put(found, node.start_mark.index, node.end_mark.index)  # type: ignore[no-any-return]


def _constructed(node: Any, loader: Any) -> object:
    kind = node.tag.removeprefix(_TAG)
    if kind in ("str", "value"):
        return node.value
    if kind not in ("int", "float", "bool", "null") or len(node.value) > _LONGEST_NUMBER:
        return ...
    try:
        return loader.construct_object(node)
    except (ValueError, KeyError):
        return ...


def _entries(node: Any, yaml: Any, loader: Any, places: _Places, depth: int) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The entries of a mapping: for each key the last one, and what is merged in by `<<` before all others."""
    found: dict[object, tuple[ast.expr, ast.expr]] = {}
    merged = [value for key, value in node.value if _tag(key) == _TAG + "merge"]
    for key, value in (pair for other in merged for pair in _merged(other, yaml, loader, places, depth + 1)):
        found[_name(key)] = key, value
    for key, value in node.value:
        if _tag(key) != _TAG + "merge":
            name = _converted(key, yaml, loader, places, depth + 1)
            found[_name(name)] = name, _converted(value, yaml, loader, places, depth + 1)
    yield from found.values()


def _merged(node: Any, yaml: Any, loader: Any, places: _Places, depth: int) -> Iterator[tuple[ast.expr, ast.expr]]:
    while isinstance(node, _Alias):
        node = node.of
    if depth > MAX_DEPTH:
        raise ParseError("nested too deeply")
    if isinstance(node, yaml.MappingNode):
        yield from _entries(node, yaml, loader, places, depth)
    elif isinstance(node, yaml.SequenceNode):
        for item in reversed(node.value):  # the first one wins
            yield from _merged(item, yaml, loader, places, depth + 1)


def _tag(node: Any) -> str:
    return str(getattr(node, "tag", ""))


def _name(key: ast.expr) -> object:
    """What two keys have in common that are the same."""
    return (type(key.value), key.value) if isinstance(key, ast.Constant) else key


# -- JSON ----------------------------------------------------------------------------------------------------------
def _json(source: SourceFile) -> ast.expr:
    """JSON is an expression of Python, but for three names."""
    try:
        json.loads(source.text)
        tree = ast.parse(source.text, mode="eval").body
    except (ValueError, SyntaxError, MemoryError) as error:
        raise ParseError(str(error)) from None
    found = _NamesOfJson().visit(tree)
    if sum(1 for _ in ast.walk(found)) > 3 * MAX_VALUES:
        raise ParseError(f"more than {MAX_VALUES} values")
    return found  # type: ignore[no-any-return]


class _NamesOfJson(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(_JSON_NAMES[node.id]), node) if node.id in _JSON_NAMES else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value: object = node.value
        if isinstance(value, str) and not value.isascii():  # JSON writes one character as two escapes
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return ast.copy_location(_scalar(value), node)


# -- TOML ----------------------------------------------------------------------------------------------------------
def _toml(source: SourceFile) -> ast.expr:
    """As the standard library reads it; where each value stands is looked for line by line."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        read = tomllib.loads(source.text)
    except ValueError as error:
        raise ParseError(str(error)) from None
    written = dict(_written(source))
    places = _Places(source)

    def built(value: object, path: tuple[str, ...]) -> ast.expr:
        _, start, end = written.get(path, (0, 0, 0))
        node: ast.expr
        if isinstance(value, dict):
            at = {key: written.get((*path, key), (start, start, end)) for key in value}
            keys: list[ast.expr | None] = [places.put(ast.Constant(key), at[key][0], at[key][1]) for key in value]
            node = ast.Dict(keys, [built(inner, (*path, key)) for key, inner in value.items()])
        elif isinstance(value, list):
            node = ast.List([built(item, (*path, str(number))) for number, item in enumerate(value)], ast.Load())
        else:
            node = _scalar(value)
        return places.put(node, start, end)  # type: ignore[no-any-return]

    return built(read, ())


def _written(source: SourceFile) -> Iterator[tuple[tuple[str, ...], tuple[int, int, int]]]:
    """Where `key = value` is written on one line, by the names that lead there: where the key starts, and where the
    value starts and ends."""
    table: tuple[str, ...] | None = ()
    for number, start in enumerate(source.line_starts, 1):
        line = source.line(number)
        header, entry = _TOML_HEADER.match(line), _TOML_ENTRY.match(line)
        if header:
            table = None if header["array"] else _toml_path(header["name"])
        elif entry and table is not None:
            places = (start + entry.start("key"), start + entry.start("value"), start + entry.end("value"))
            yield (*table, *_toml_path(entry["key"])), places


def _toml_path(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
