"""The domain of texts: whether a value is text, and whether its items are. Only hashes of text and bytes, and of tuples
of them, change from run to run; a set of integers comes in the same order each time.

Says what the code shows, and last what a name says; and which calls of `hash`, by that, give another number in every
process. Python salts these hashes unless PYTHONHASHSEED is set before it starts; those of numbers are the same
everywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Domain, Of, Program, Written
from torchrepro_lint.dataflow.filling import Role, filling, is_made_empty
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import Binding, Scope, last_name, walk
from torchrepro_lint.project.declarations import constant

HASH = "builtins.hash"
_OPEN = "builtins.open"
_SAME_ITEMS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter",
                         "collections.Counter"})  # fmt: skip
_KEEPS = frozenset({"unique", "dropna", "tolist", "drop_duplicates"})  # methods of columns and arrays
_OF_NUMBERS = frozenset({"range", "len", "int", "float", "round", "ord", "id", "hash"})
_COUNTS = frozenset({"index", "count"})  # methods of lists and texts
_HASHABLE = frozenset({"tuple", "frozenset"})
_ANNOTATED = frozenset({"str", "bytes", "Path"})
_MAPPINGS = frozenset({"Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict", "defaultdict"})
_HOLDERS = _MAPPINGS | {"List", "list", "Sequence", "Iterable", "Iterator", "Collection", "Set", "set", "AbstractSet",
                        "FrozenSet", "frozenset", "Deque", "deque", "Counter"}  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TEXT_CLASSES = frozenset({"str", "builtins.str"})
_NUMBERS = frozenset({"id", "ids", "idx", "index", "indices", "num", "count", "len", "lengths"})


class Evidence(IntEnum):
    """How much speaks for text: what it is instead, nothing, a name that says so, or what the expression does."""

    OTHER = -1
    NONE = 0
    NAME = 1
    SURE = 2


class Text(NamedTuple):
    """Evidence that a value is text or a tuple with one in it, that iterating over it gives text, that a subscript
    does, and that iterating over what a subscript gives does. Of a pair, or of one of many pairs in a container, what
    stands at each place, where it is known."""

    own: Evidence
    items: Evidence
    at: Evidence
    within: Evidence = Evidence.NONE
    places: tuple[Evidence, ...] = ()
    inside: tuple[Evidence, ...] = ()


_TEXT = Text(Evidence.SURE, Evidence.SURE, Evidence.SURE, Evidence.SURE)
_BYTES = Text(Evidence.SURE, Evidence.OTHER, Evidence.OTHER)
_UNKNOWN = Text(Evidence.NONE, Evidence.NONE, Evidence.NONE)
_OTHER = Text(Evidence.OTHER, Evidence.OTHER, Evidence.OTHER)
_Of: TypeAlias = "Of[Text]"


@dataclass(frozen=True)
class Texts(Domain[Text]):
    """Joined by the strongest evidence; the items of what is written out by the weakest. `on_every_way`: what is
    something else than text on one way is joined to that, as what is to be compared has to be text on each."""

    program: Program
    on_every_way: bool = False
    nothing = _UNKNOWN

    def is_text(self, node: ast.expr, scope: Scope) -> Evidence:
        """Whether `node` is a string, bytes, or a tuple with one in it."""
        return max(self.program.evaluate(node, scope, self).own, Evidence.NONE)

    def holds_text(self, node: ast.expr, scope: Scope) -> Evidence:
        """Whether the items of `node` are texts; those of a text are its characters."""
        return max(self.program.evaluate(node, scope, self).items, Evidence.NONE)

    def join(self, values: Sequence[Text]) -> Text:
        if not values:
            return _OTHER
        if len(values) == 1:
            return values[0]
        found = _strongest(values)
        if self.on_every_way:
            weakest = Text(*(min(evidence) for evidence in zip(*(v[:4] for v in values), strict=True)))
            pairs = zip(weakest[:4], found[:4], strict=True)
            own, items, at, within = (low if low is Evidence.OTHER else high for low, high in pairs)
            found = Text(own, items, at, within, found.places, found.inside)
        return found

    def constant(self, value: object, node: ast.expr, scope: Scope) -> Text:
        if value is None:
            return _UNKNOWN._replace(own=Evidence.OTHER) if self.on_every_way else _UNKNOWN
        return _TEXT if isinstance(value, str) else _BYTES if isinstance(value, bytes) else _OTHER

    def named(self, name: str, found: Text, expr: ast.AST, scope: Scope) -> Text:
        if isinstance(expr, ast.Attribute) and name in _table()["attributes"]:
            return _TEXT
        if self.on_every_way and isinstance(expr, ast.Attribute) and self._is_enumerated(expr, scope):
            return _OTHER
        words = {word.lower() for word in _WORD.findall(name)}
        if not words & set(_table()["words"]) or words & _NUMBERS:
            return found
        raised = {Evidence.NONE: Evidence.NAME}
        own, items, at = (raised.get(e, e) for e in (found.own, found.items, found.at))
        return Text(own, items, at, raised.get(found.within, found.within), found.places, found.inside)

    def _is_enumerated(self, member: ast.Attribute, scope: Scope) -> bool:
        """Whether an attribute is a member of an `Enum`, which is hashed by its name but cannot be compared; one of a
        class that is derived from `str` as well is a text."""
        owner = self.program.resolve(member.value, scope)
        bases = self.program.external_bases(owner) if isinstance(owner, Scope) and owner.kind == "class" else ()
        return "enum.Enum" in bases and not _TEXT_CLASSES.intersection(bases)

    def display(self, node: Written, scope: Scope, of: _Of) -> Text:
        if is_made_empty(node):
            return self._put(node, scope, of)
        match node:
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                texts = [of(e, scope) for e in elts]
                found = [t.items if isinstance(e, ast.Starred) else t.own for t, e in zip(texts, elts, strict=True)]
                items = min(found, default=Evidence.NONE)
                own = max(found, default=Evidence.NONE) if isinstance(node, ast.Tuple) else Evidence.OTHER
                is_whole = not isinstance(node, ast.Set) and not any(isinstance(e, ast.Starred) for e in elts)
                inside = _places(t.places for t in texts)
                return Text(own, items, items, places=tuple(found) if is_whole else (), inside=inside)
            case ast.Dict(keys=keys, values=values):
                known = [of(key, scope).own for key in keys if key is not None]
                held = [of(value, scope).own for value in values]
                return Text(Evidence.OTHER, min(known, default=Evidence.NONE), min(held, default=Evidence.NONE))
            case ast.DictComp(key=key, value=value):
                inner = scope.children.get(node, scope)
                return Text(Evidence.OTHER, of(key, inner).own, of(value, inner).own)
            case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt):
                text = of(elt, scope.children.get(node, scope))
                return Text(Evidence.OTHER, text.own, text.own, inside=text.places)

    def operator(self, node: ast.AST, scope: Scope, of: _Of) -> Text:
        match node:
            case ast.JoinedStr():
                return _TEXT
            case ast.BinOp(left=left, op=ast.Mod() | ast.Div()):
                return of(left, scope)
            case ast.BinOp(left=left, right=right):
                return _strongest([of(left, scope), of(right, scope)])._replace(places=())
            case ast.AugAssign(value=value):
                return of(value, scope)._replace(places=())
            case ast.Compare() | ast.UnaryOp():
                return _OTHER
        return _UNKNOWN

    def element(self, loop: Binding, scope: Scope, of: _Of) -> Text:
        match loop.path, loop.value:
            case (), ast.expr() as iterable:
                return _item(of(iterable, scope))
            case (place,), ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
                return _item(of(items, scope)) if place else _OTHER
            case (1, place), ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
                return _place(_item(of(items, scope)), place)
            case (place,), ast.Call(func=ast.Attribute(value=mapping, attr="items")):
                whole = _mapping(of(mapping, scope))
                return _value(whole) if place else _item(whole)
            case (place,), ast.expr() as iterable:
                return _place(_item(of(iterable, scope)), place)
        return _UNKNOWN

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: _Of) -> Text:
        whole = of(container, scope)
        place = constant(key) if key is not None and whole.places else None
        if isinstance(place, int):
            return _place(whole, place)
        return whole._replace(places=()) if isinstance(key, ast.Slice) else _value(whole)

    def unpacked(self, container: ast.expr, path: tuple[int, ...], scope: Scope, of: _Of) -> Text:
        """Nobody takes a text apart: what may also be one is something else where that is done."""
        whole = of(container, scope)
        if len(path) == 1 and whole.places:
            return _place(whole, path[0])
        return _UNKNOWN if whole.own is whole.within is Evidence.SURE else _value(whole)

    def parameter(self, binding: Binding, function: Scope, of: _Of) -> Text:
        annotation = getattr(binding.node, "annotation", None)
        return _declared(annotation) if annotation is not None else _UNKNOWN

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: _Of) -> Text:
        name = callee if isinstance(callee, str) else ""
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if callee is None and _is_of_texts(call):
            return _holding(Evidence.SURE)
        if name == _OPEN and _is_binary(call):
            return _holding(Evidence.SURE, Evidence.OTHER)  # its lines
        if callee is None and method == "read" and isinstance(call.func, ast.Attribute):
            return _TEXT if of(call.func.value, scope).own is Evidence.SURE else _UNKNOWN
        if name in _table()["functions"] or (callee is None and method in _table()["methods"]):
            return _BYTES if {name, method} & set(_table()["binary"]) else _TEXT
        wraps = name.removeprefix("builtins.")
        if wraps in _OF_NUMBERS or (callee is None and method in _COUNTS):
            return _OTHER
        if wraps in _SAME_ITEMS and call.args:
            whole = of(call.args[-1], scope)
            if wraps == "frozenset" and self.on_every_way:  # whose order is that of subsets, which sorts nothing
                return whole._replace(own=Evidence.OTHER, places=())
            return whole._replace(own=whole.items if wraps in _HASHABLE else Evidence.OTHER, places=())
        if wraps == "zip" and call.args:
            if isinstance(call.args[0], ast.Starred):
                return _turned(of(call.args[0].value, scope))
            return _zipped([of(a, scope).items for a in call.args])
        if wraps == "map" and call.args:
            mapped = self.program.qualified(call.args[0], scope)
            return _holding(Evidence.SURE if mapped in _table()["functions"] else Evidence.NONE)
        if name in _table()["rows"]:  # of a dict, what is missing is None
            surely = not call.keywords and name not in _table()["missing"]
            return _OTHER._replace(within=Evidence.SURE if surely else Evidence.NAME)
        if is_made_empty(call, callee):
            return self._put(call, scope, of)
        if method in ("keys", "values") and isinstance(call.func, ast.Attribute):
            mapping = _mapping(of(call.func.value, scope))
            if method == "keys" and self.program.is_made_by(_table()["keyed"], call.func.value, scope):
                return _holding(Evidence.SURE)
            return _holding(*((mapping.at, mapping.within) if method == "values" else (mapping.items,)))
        if callee is None and method in _KEEPS and isinstance(call.func, ast.Attribute):
            return _mapping(of(call.func.value, scope))
        is_array = name.startswith(("numpy.", "pandas.")) and _is_of_text_type(name, call)
        return _holding(Evidence.SURE) if method in ("iterdir", "rglob") or is_array else _UNKNOWN

    def _put(self, made: ast.expr, scope: Scope, of: _Of) -> Text:
        """What is put into a container that is made empty: of some, one tells of the others."""
        found: dict[Role, list[Evidence]] = {role: [] for role in Role}
        inside: list[tuple[Evidence, ...]] = []
        puts, is_complete = filling(made, scope, self.program)
        for put in puts:
            text = of(put.node, put.scope)
            found[put.role].append(text.items if put.many else text.own)
            inside.append(text.inside if put.many else text.places)
            if put.role is Role.VALUE and text.own is Evidence.OTHER:
                found[Role.WITHIN].append(text.items)
        if found[Role.WITHIN]:
            found[Role.VALUE].append(Evidence.OTHER)
        items, values, within = (_alike(evidence, is_complete) for evidence in found.values())
        if found[Role.VALUE]:
            return Text(Evidence.OTHER, items, values, within)
        return Text(Evidence.OTHER, items, items, within, inside=_places(inside))


def _strongest(values: Sequence[Text]) -> Text:
    return Text(
        max(v.own for v in values),
        max(v.items for v in values),
        max(v.at for v in values),
        max(v.within for v in values),
        _places(v.places for v in values),
        _places(v.inside for v in values),
    )


def declares_texts(annotation: ast.expr) -> Evidence:
    """Whether an annotation says that the items are texts: `Set[str]`."""
    return max(_declared(annotation).items, Evidence.NONE)


def _declared(annotation: ast.expr) -> Text:
    """What an annotation says: `str`, `Optional[Dict[str, int]]`. Nobody keeps what is in a container to it."""
    match annotation:
        case ast.Subscript(value=holder, slice=of) if (name := last_name(holder)) in _HOLDERS:
            parts = of.elts if isinstance(of, ast.Tuple) and of.elts else [of]
            keys, values = _declared(parts[0]), _declared(parts[name in _MAPPINGS and len(parts) > 1])
            own, at, within = (min(e, Evidence.NAME) for e in (keys.own, values.own, values.items))
            return Text(Evidence.OTHER, own, at, within)
        case ast.Subscript(value=holder, slice=ast.Tuple(elts=parts)) if last_name(holder) in ("Tuple", "tuple"):
            found = [min(_declared(part).own, Evidence.NAME) for part in parts if not isinstance(part, ast.Constant)]
            every = min(found, default=Evidence.NONE)
            return Text(max(found, default=Evidence.NONE), every, every)
        case ast.Subscript(value=holder, slice=of) if last_name(holder) == "Optional":
            return _declared(of)._replace(own=Evidence.OTHER)
        case ast.BinOp(left=of, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _declared(of)._replace(own=Evidence.OTHER)
    return _TEXT if ast.unparse(annotation).strip("'\"") in _ANNOTATED else _UNKNOWN._replace(own=Evidence.OTHER)


def _table() -> Mapping[str, Any]:
    return catalogue.table("generators")["text"]  # type: ignore[no-any-return]


def _alike(found: Sequence[Evidence], is_complete: bool) -> Evidence:
    """What things are that are put into one container, of which some are seen."""
    if not found or Evidence.OTHER in found:
        return Evidence.OTHER if found else Evidence.NONE
    return min(found) if is_complete else min(max(found), Evidence.NAME)


def _mapping(found: Text) -> Text:
    """What is no text, for its methods: what is known of it where it may be one instead speaks of that."""
    return found if found.own <= Evidence.NONE else _UNKNOWN


def _item(whole: Text) -> Text:
    """An item, as a loop gives it."""
    return _inside(whole.items, whole.within, whole.inside)


def _value(whole: Text) -> Text:
    """An item, as a subscript gives it."""
    return _inside(whole.at, whole.within, whole.inside)


def _place(whole: Text, place: int) -> Text:
    """What stands at one place of a pair; nobody takes a text apart, so what may be one tells nothing."""
    if -len(whole.places) <= place < len(whole.places):
        return _inside(whole.places[place], whole.within)
    return _value(whole) if whole.own is Evidence.OTHER else _UNKNOWN


def _turned(rows: Text) -> Text:
    """`zip(*rows)`: what stands at one place of all of them, for each place."""
    row = _item(rows)
    if row.places:
        return Text(Evidence.OTHER, max(row.places), max(row.places), Evidence.OTHER, row.places)
    return _holding(row.items, row.items)


def _places(found: Iterable[tuple[Evidence, ...]]) -> tuple[Evidence, ...]:
    """What stands at each place, of many that have as many."""
    known = [places for places in found if places]
    if len({len(places) for places in known}) != 1:
        return ()
    return tuple(max(at) for at in zip(*known, strict=True))


def _inside(own: Evidence, within: Evidence, places: tuple[Evidence, ...] = ()) -> Text:
    """An item of which this is known: that of a text is one, and so are its own; another may hold some."""
    items = within if own is Evidence.OTHER else own
    if places:
        items = min(items, *places)
    return Text(own, items, items, items, places)


def _zipped(items: Sequence[Evidence]) -> Text:
    """Tuples of an item each: with a text in them if one of these is, surely orderable only if all are."""
    strongest = max(items)
    found = strongest if min(items) is strongest else min(strongest, Evidence.NAME)
    return Text(Evidence.OTHER, found, Evidence.NONE, inside=tuple(items))


def _holding(evidence: Evidence, within: Evidence = Evidence.NONE) -> Text:
    return Text(Evidence.NONE, evidence, evidence, within)


def _is_of_texts(call: ast.Call) -> bool:
    """Whether a column of a table is one of texts: `table["label"].astype(str)`, `table["label"].str.lower()`."""
    match call:
        case ast.Call(func=ast.Attribute(attr="astype"), args=[ast.Name(id="str") | ast.Constant(value="str")]):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="str"))):
            return True
    return False


def _is_binary(call: ast.Call) -> bool:
    """`open(path, "rb")`"""
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and "b" in str(mode.value) for mode in modes)


def _is_of_text_type(name: str, call: ast.Call) -> bool:
    """`dtype=str`, `dtype=np.dtype(str)`, `dtype="U10"`; also in the second place, where numpy's functions take it."""
    second = [a for a in call.args[1:2] if name.startswith("numpy.") and isinstance(a, ast.Name | ast.Attribute)]
    given = [k.value for k in call.keywords if k.arg == "dtype"] or second
    if not given or isinstance(given[0], ast.Dict):  # of some columns
        return False
    names = {getattr(n, "id", getattr(n, "attr", "")) for n in walk(given[0])}
    literal = given[0].value if isinstance(given[0], ast.Constant) else ""
    return bool(names & {"str", "str_", "unicode_"}) or bool(re.match(r"str$|[<>=]?U\d*$", str(literal)))


def salted(call: ast.Call, scope: Scope, program: Program) -> Certainty | None:
    """Whether `call` is a salted hash: certain, likely by its argument's name, or not known to be."""
    if len(call.args) != 1 or program.callee(call, scope) != HASH:
        return None
    return {Evidence.NAME: Certainty.LIKELY, Evidence.SURE: Certainty.CERTAIN}.get(
        Texts(program).is_text(call.args[0], scope)
    )
