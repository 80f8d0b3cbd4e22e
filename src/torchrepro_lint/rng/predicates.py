"""What a test asks about: training mode, gradients, determinism, the device, the release, a seed. One predicate each,
which says what the test being true means; `dataflow.conditions` knows which tests hold where.

Goes by how flags are called and by what PyTorch's own functions tell; values are not followed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from functools import partial
from typing import Literal, NamedTuple

from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.conditions import PathCondition, conditions, everywhere
from torchrepro_lint.index import Scope, last_name, walk

_TRAINING = frozenset({"training", "is_training", "is_train"})
_EXPORTING = frozenset({"is_scripting", "is_tracing", "is_exporting", "is_in_onnx_export"})
_EXPORTED_TO = frozenset({"coreml", "onnx", "openvino", "tensorrt", "tflite", "torchscript"})
_SEED = re.compile(r"seed", re.IGNORECASE)
_REQUEST = re.compile(r"determin|reproduc|seed", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:non[-_]?|(?<![a-z])(?:in|un)[-_]?|(?:disable|unset|undo|reset|clear|off)_(?:\w+_)?)determin", re.IGNORECASE
)


class Flag(NamedTuple):
    """`name` is read as a yes or no; `on` says which of the two makes the test true, or is None for other values."""

    name: str
    on: bool | None = True


def flag(test: ast.expr) -> Flag | None:
    """The flag that a test reads: by the last part of a name, a literal key, or the function that is asked."""
    match test:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return Flag(name)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return Flag(name)
        case ast.Call(func=ast.Name(id="bool"), args=[inner]) | ast.NamedExpr(value=inner):
            return flag(inner)
        case ast.Call(func=function):
            return flag(function)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _compared(flag(inner), False)
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=value)]):
            if value is None or isinstance(value, bool):
                return _compared(flag(left), isinstance(op, ast.Is | ast.Eq) is bool(value))
            return _compared(flag(left), None)  # `seed == 0`, `seed < 0`
    return None


def _compared(found: Flag | None, on: bool | None) -> Flag | None:
    if found is None or found.on is None or on is None:
        return found and found._replace(on=None)
    return found._replace(on=found.on is on)


# -- of one test --------------------------------------------------------------------------------------------------
def training_mode(test: ast.expr) -> bool | None:
    """`self.training`, also where the same may be asked for in evaluation: `self.training or self.always`."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=[first, *_]):
            return _reads(_TRAINING, first) or None
    return _reads(_TRAINING, test)


def export(test: ast.expr) -> bool | None:
    """`torch.jit.is_scripting()`, `target == "onnx"`"""
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=str() as target)]):
            return isinstance(op, ast.Eq) if target in _EXPORTED_TO else None
    return _reads(_EXPORTING, test)


def cpu(test: ast.expr) -> bool | None:
    """`x.device.type == "cpu"`, `not x.is_cuda`"""
    match test:
        case ast.Compare(
            left=ast.Attribute(attr="type"), ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value="cpu")]
        ):
            return isinstance(op, ast.Eq)
    on_gpu = _reads(("is_cuda",), test)
    return None if on_gpu is None else not on_gpu


def older_release(test: ast.expr) -> bool | None:
    """`version.parse(torchvision.__version__) < version.parse("0.7")`: not the release that runs today."""
    match test:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as op]):
            if any(isinstance(n, ast.Attribute) and n.attr == "__version__" for n in walk(left)):
                return isinstance(op, ast.Lt | ast.LtE)
    return None


def determinism(test: ast.expr) -> bool | Literal["unclear"] | None:
    """Whether determinism is asked for, by a flag or by a seed; programs use `seed == 0` and `seed < 0` both ways."""
    found = flag(test)
    if found is None or not _REQUEST.search(found.name):
        return None
    return "unclear" if found.on is None else found.on is not bool(_NEGATED.search(found.name))


def about_seed(test: ast.expr) -> bool:
    """Whether a test mentions a seed."""
    return any(_SEED.search(str(n.value) if isinstance(n, ast.Constant) else last_name(n)) for n in walk(test))


def mentions_request(expr: ast.expr) -> bool:
    """Whether a seed or determinism flag takes part in a value."""
    return any(determinism(node) is not None for node in walk(expr) if isinstance(node, ast.expr))


def _reads(names: Collection[str], test: ast.expr) -> bool | None:
    found = flag(test)
    return found.on if found is not None and found.name in names else None


gradients = partial(_reads, ("is_grad_enabled",))  # `torch.is_grad_enabled()`
deterministic_kernels = partial(_reads, ("are_deterministic_algorithms_enabled",))


# -- of a place ---------------------------------------------------------------------------------------------------
def is_requested(node: ast.AST, scope: Scope) -> bool:
    """Whether a place is reached only where determinism was asked for."""
    return any(_asks(condition, True) for condition in conditions(node, scope))


def is_unrequested(node: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether a place is reached only where determinism was not asked for, by tests here or at every caller."""
    return everywhere(lambda condition: _asks(condition, False), node, scope, program)


def _asks(condition: PathCondition, wanted: bool) -> bool:
    answer = determinism(condition.test)
    return answer == "unclear" or (answer is not None and (answer is condition.holds) is wanted)


def needs_option(word: str, node: ast.AST, scope: Scope) -> bool:
    """Whether a place is reached only where an option is on whose name has `word` in it."""
    return any(
        (found := flag(condition.test)) is not None and found.on is condition.holds and word in found.name.lower()
        for condition in conditions(node, scope)
    )
