"""Names that are taken apart and put together: what `path.rsplit(".", 1)`, `parts[:-1]` and `".".join(parts)` give of
texts that are known, and the functions that import what a text names. Knows no module: whether there is one of a name
is for others to say.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchrepro_lint.index import Binding, Scope, last_name

_SEPARATORS = frozenset({".", ":"})  # of other texts nobody asks
_SPLITS = frozenset({"split", "rsplit", "partition", "rpartition"})


def is_split(call: ast.Call) -> bool:
    """Whether a call takes a dotted name apart: `path.split(".")`, `path.rsplit(".", 1)`."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr=name),
            args=[ast.Constant(value=separator)] | [ast.Constant(value=separator), ast.Constant(value=int())],
            keywords=[] | [ast.keyword(arg="maxsplit", value=ast.Constant(value=int()))],
        ):
            return name in _SPLITS and separator in _SEPARATORS
    return False


def split(call: ast.Call, text: str) -> ast.Tuple:
    """What such a call gives, written out."""
    assert isinstance(call.func, ast.Attribute)
    given = [*call.args, *(k.value for k in call.keywords)]
    numbers = [a.value for a in given if isinstance(a, ast.Constant)]
    if "partition" in call.func.attr:
        numbers = numbers[:1]
    parts: Sequence[str] = getattr(text, call.func.attr)(*numbers)
    return ast.copy_location(ast.Tuple([ast.copy_location(ast.Constant(p), call) for p in parts], ast.Load()), call)


def joined(call: ast.Call, parts: ast.expr) -> str | None:
    """What `".".join(parts)` gives of parts that are written out."""
    match call, parts:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(between)))), ast.Tuple() | ast.List():
            texts = [item.value for item in parts.elts if isinstance(item, ast.Constant)]
            if len(texts) == len(parts.elts) and all(isinstance(text, str) for text in texts):
                return between.join(map(str, texts))
    return None


def is_join(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value="."), attr="join"), args=[_], keywords=[]):
            return True
    return False


def part(items: ast.Tuple | ast.List, key: ast.expr) -> ast.expr | None:
    """`items[:-1]`, written out, or `items[-1]`."""
    match key:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(place))) if place <= len(items.elts):
            return items.elts[-place]
        case ast.Slice(lower=lower, upper=upper, step=None):
            first, last = _number(lower), _number(upper)
            if (lower is None or first is not None) and (upper is None or last is not None):
                return ast.copy_location(ast.Tuple(items.elts[first:last], ast.Load()), items)
    return None


def _number(bound: ast.expr | None) -> int | None:
    match bound:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def importer_of(function: Scope) -> Binding | None:
    """The parameter of a function that imports what a text names, and gives it: `module, name = path.rsplit(".", 1);
    return getattr(import_module(module), name)`."""
    calls = [call for call, scope in function.calls if scope.function is function]
    taken = [c.func.value for c in calls if is_split(c) and isinstance(c.func, ast.Attribute)]
    names = {node.id for node in taken if isinstance(node, ast.Name)}
    if len(names) != 1 or not any(last_name(call.func) == "import_module" for call in calls):
        return None
    gotten = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "getattr"]
    if len(gotten) != 1 or not all(_gives(value, gotten[0], function) for value in function.returns):
        return None
    bindings = function.bindings.get(names.pop(), ())
    is_whole = all(getattr(b.node, "lineno", 0) > taken[-1].lineno for b in bindings[1:])  # then it may hold a part
    return bindings[0] if bindings and bindings[0].kind == "parameter" and is_whole else None


def _gives(value: ast.expr, gotten: ast.Call, function: Scope) -> bool:
    """Whether what a function returns is what a call gives, at once or under a name."""
    bindings = function.bindings.get(value.id, ()) if isinstance(value, ast.Name) else ()
    return value is gotten or (bool(bindings) and all(b.value is gotten for b in bindings))
