"""What calls and subscripts make of tensors, by their signatures and shapes as the catalogue gives them. Does not
follow names.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache

from torchrepro_lint import catalogue
from torchrepro_lint.index import keyword_value, last_name
from torchrepro_lint.kernels.traits import TENSOR, Traits

_WHOLE = frozenset({"long", "int", "int8", "int16", "int32", "int64", "uint8", "bool", "short"})
_SHAPE_KEYWORDS = ("size", "dim", "dims", "shape")


@cache
def listed(section: str, key: str) -> frozenset[str]:
    """A list of the catalogue's table `tensors`."""
    return frozenset(catalogue.table("tensors")[section][key])


def result(name: str, tensor: Traits, arguments: Sequence[ast.expr], call: ast.Call) -> Traits:
    """What the method or function `name` makes of `tensor`; `arguments` are those after the tensor."""
    found = _result(name, tensor, arguments, call)._replace(
        whole=True if _rounds(call) else tensor.whole if name in listed("methods", "keeps_whole") else None,
        unique=_unique(name, tensor, call),
        single=_single(name, tensor, arguments, call),
        host=None if name in listed("methods", "moves") else tensor.host,
    )
    if name in listed("methods", "integer"):
        return found._replace(tensor=True, floating=False, gradient=False, whole=True)
    if name in listed("methods", "floating"):
        return found._replace(floating=True)
    if name in listed("methods", "without_gradient"):
        return found._replace(gradient=False)
    if name == "requires_grad_":
        return found._replace(gradient=requires_grad(call, otherwise=True))
    return found


def _rounds(call: ast.Call) -> bool:
    """`torch.div(x, y, rounding_mode="floor")`."""
    return any(k.arg == "rounding_mode" and not _is(k.value, None) for k in call.keywords)


def _unique(name: str, tensor: Traits, call: ast.Call) -> bool | None:
    if name in listed("methods", "unique"):
        return True if name != "where" or len(call.args) == 1 else None
    if name in ("view", "reshape", "flatten"):  # the rows of a matrix may share what each names once
        return tensor.unique if tensor.rank == 1 else None
    return tensor.unique if name in listed("methods", "keeps_unique") else None


def _single(name: str, tensor: Traits, arguments: Sequence[ast.expr], call: ast.Call) -> int | None:
    """The dimension that `unsqueeze(1)` adds, `argmax(dim=1, keepdim=True)` leaves, and `nonzero()` of a list has."""
    if name in ("unsqueeze", "unsqueeze_") or (name in listed("methods", "reduce") and _keeps(arguments, call)):
        dims = [*arguments[:1], *(k.value for k in call.keywords if k.arg in ("dim", "axis"))]
        return _number(dims[0]) if dims else None
    if name == "nonzero":
        return 1 if tensor.rank == 1 else None
    return tensor.single if name in listed("methods", "keeps_single") else None


def indexed(tensor: Traits, key: ast.expr) -> Traits:
    """`tensor[key]`: slices keep a dimension, numbers take one away, None adds one; an index tensor is unknown."""
    keys = key.elts if isinstance(key, ast.Tuple) else [key]
    added = gone = 0
    for item in keys:
        match item:
            case ast.Slice() | ast.Constant(value=bool()):
                continue
            case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())):
                gone += 1
            case ast.Constant(value=None):
                added += 1
            case ast.Constant():  # ...
                continue
            case _:
                return tensor._replace(unique=None, single=None).unranked()
    named = sum(not (isinstance(k, ast.Constant) and k.value in (None, ...)) for k in keys)
    is_column = isinstance(keys[0], ast.Slice) and gone > 0 and tensor.single is None
    unique = None if is_column else tensor.unique  # what rows name once, their columns may repeat
    found = tensor._replace(single=None, unique=unique).shifted(added - gone, added - gone)
    return found.at_least(named + added - gone) if len(keys) > 1 else found


def _result(name: str, tensor: Traits, arguments: Sequence[ast.expr], call: ast.Call) -> Traits:
    known = tensor._replace(tensor=True)
    if name == "nonzero" or (name == "where" and len(call.args) == 1):
        return known.ranked(2)  # also right for what `[0]` makes of the tuple of indices
    if name in listed("methods", "shape"):
        return _shaped(name, known, arguments)
    if name in listed("methods", "swap"):
        return known.at_least(_mentioned(arguments))
    if name in listed("methods", "reduce"):
        return _reduced(known, arguments, call)
    if name == "to" and _names_whole_numbers(arguments, call):
        return known._replace(floating=False, gradient=False)
    if name in listed("methods", "same") or name in listed("methods", "integer_same"):
        dims = [k.value for k in call.keywords if k.arg == "dim"]
        return known.at_least(_mentioned(dims))
    match name:
        case "unsqueeze" | "unsqueeze_" | "stack" | "one_hot":
            return known.shifted(1, 1)
        case "squeeze" | "squeeze_":
            return known.shifted(-1 if arguments or call.keywords else -len("NCHWD"), 0)
        case "flatten":
            return known.ranked(1) if not arguments and not call.keywords else known.unranked(1)
        case "detach" | "detach_" | "round" | "floor" | "ceil" | "sign":
            return known
        case "repeat":
            return known.at_least(len(arguments))
        case "t":
            return known.ranked(2)
    return Traits(True if tensor.tensor or name in listed("methods", "plain") else None, gradient=tensor.gradient)


def created(name: str, arguments: Sequence[ast.expr], call: ast.Call) -> Traits | None:
    """What a function that makes a new tensor makes; None for any other."""
    gradient = requires_grad(call, otherwise=False)
    whole = name in listed("methods", "integer") or _names_whole_numbers((), call)
    counts = whole or name.endswith(("ones", "ones_like", "zeros", "zeros_like", "arange")) or None
    made = _created(name, arguments, call, gradient, whole)
    if made is None:
        return None
    placed = name.startswith("new_") or name.endswith("_like") or any(k.arg == "device" for k in call.keywords)
    unique = True if name in listed("methods", "unique") else None
    return made._replace(whole=counts, unique=unique, host=None if placed else True)


def requires_grad(call: ast.Call, otherwise: bool | None) -> bool | None:
    """Whether a tensor requires a gradient by the `requires_grad` that a call is given."""
    given = [k.value for k in call.keywords if k.arg == "requires_grad"]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
        given += call.args
    if not given:
        return otherwise
    return bool(given[0].value) if isinstance(given[0], ast.Constant) else None


def _created(
    name: str, arguments: Sequence[ast.expr], call: ast.Call, gradient: bool | None, whole: bool
) -> Traits | None:
    if name in listed("methods", "create"):
        given = keyword_value(call, "dtype")
        is_as_another = isinstance(given, ast.Attribute) and given.attr == "dtype"  # `dtype=x.dtype`
        return _sized(arguments, call)._replace(floating=None if is_as_another else not whole, gradient=gradient)
    if name in listed("methods", "vector"):
        counts = name == "arange" and not any(isinstance(getattr(a, "value", None), float) for a in arguments)
        typed = any(k.arg == "dtype" for k in call.keywords)
        floating = None if typed and not whole else not (whole or counts)
        return Traits(True, 1, 1, floating, gradient)
    if name in listed("methods", "like") or name in ("tensor", "as_tensor", "from_numpy"):
        return Traits(tensor=True, floating=False if whole else None, gradient=gradient)
    return None


def _sized(arguments: Sequence[ast.expr], call: ast.Call) -> Traits:
    """`zeros(2, 3)`, `zeros((2, 3))`, `zeros(size=(2, 3))`."""
    sizes = list(arguments) or [k.value for k in call.keywords if k.arg in _SHAPE_KEYWORDS]
    if sizes and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = list(sizes[0].elts)
    plain = sizes and all(isinstance(s, ast.Constant | ast.BinOp) for s in sizes)
    if plain or (len(sizes) > 1 and not any(isinstance(s, ast.Starred) for s in sizes)):
        return TENSOR.ranked(len(sizes))
    return TENSOR


def _shaped(name: str, tensor: Traits, arguments: Sequence[ast.expr]) -> Traits:
    sizes = list(arguments)
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = list(sizes[0].elts)
    elif len(sizes) == 1 and not isinstance(sizes[0], ast.Constant | ast.UnaryOp):
        return tensor if name in ("permute", "expand") and tensor.rank is not None else tensor.unranked()
    if not sizes or any(isinstance(s, ast.Starred) for s in sizes):
        return tensor.unranked(len(sizes) - 1 if sizes else 0)
    return tensor.ranked(len(sizes))


def _reduced(tensor: Traits, arguments: Sequence[ast.expr], call: ast.Call) -> Traits:
    dims = list(arguments[:1]) + [k.value for k in call.keywords if k.arg in ("dim", "axis")]
    if not dims:
        return tensor.ranked(0)
    if _keeps(arguments, call):
        return tensor.at_least(_mentioned(dims))
    count = len(dims[0].elts) if isinstance(dims[0], ast.Tuple | ast.List) else 1
    return tensor.at_least(_mentioned(dims)).shifted(-count, -count)


def _keeps(arguments: Sequence[ast.expr], call: ast.Call) -> bool:
    """`sum(1, keepdim=True)`, `sum(1, True)`."""
    named = any(k.arg == "keepdim" and _is(k.value, True) for k in call.keywords)
    return named or (len(arguments) > 1 and _is(arguments[1], True))


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
    return None


def _mentioned(dims: Sequence[ast.expr]) -> int:
    """How many dimensions a tensor must have for these dimension numbers to exist."""
    needed = 0
    for dim in dims:
        items = dim.elts if isinstance(dim, ast.Tuple | ast.List) else [dim]
        for item in items:
            match item:
                case ast.Constant(value=int() as number) if not isinstance(number, bool):
                    needed = max(needed, number + 1)
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
                    needed = max(needed, number)
    return needed


def _names_whole_numbers(arguments: Sequence[ast.expr], call: ast.Call) -> bool:
    values = [*arguments, *(k.value for k in call.keywords if k.arg == "dtype")]
    return not _WHOLE.isdisjoint(map(last_name, values))


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
