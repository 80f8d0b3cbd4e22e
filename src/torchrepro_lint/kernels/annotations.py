"""What annotations and einops patterns say of a tensor, and of values that nobody is seen to pass: the default that
`Settings` declares for `settings.mode`. Judges nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.dataflow import UNKNOWN, Program
from torchrepro_lint.dataflow.abstract_values import Parameter
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.kernels.traits import NOT_A_TENSOR, TENSOR, WHOLE_NUMBERS, Traits
from torchrepro_lint.project.names import Variable

_PLAIN = frozenset(
    {"int", "float", "str", "bool", "dict", "list", "tuple", "bytes", "set", "ndarray", "None", "Optional"}
)
_TENSORS = frozenset({"Tensor", "FloatTensor", "HalfTensor", "Parameter"})
_WHOLE = frozenset({"LongTensor", "IntTensor", "BoolTensor"})
_HOLDERS = frozenset({"list", "List", "dict", "Dict", "Sequence", "tuple", "Tuple", "Iterable", "Mapping", "Callable"})
_WORD = re.compile(r"\b\w+\b(?=\s*(?:[\[\],|]|$))")


def annotated(node: ast.expr | None) -> Traits | None:
    """What a parameter's annotation says; None when it says nothing about tensors."""
    if node is None:
        return None
    words = set(_WORD.findall(literal_text(node) or ast.unparse(node)))
    if words & _WHOLE:
        return WHOLE_NUMBERS
    if words & _TENSORS and not words & _HOLDERS:
        return TENSOR
    return NOT_A_TENSOR if words and words <= _PLAIN else None


def literal_text(node: ast.AST | None) -> str | None:
    """The text of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def dimensions_of_pattern(node: ast.expr) -> int:
    """The number of dimensions on the right of an einops pattern: `b c h w -> b (h w) c` has 3."""
    right = (literal_text(node) or "").rpartition("->")[2]
    return len(re.sub(r"\([^)]*\)", "g", right).split())


# -- of values that nobody is seen to pass -----------------------------------------------------------------------------
def field_default(field: ast.Attribute, scope: Scope, program: Program) -> object:
    """The default of a field, by the class that the parameter which holds it is annotated with; else UNKNOWN."""
    for origin in program.origins(field.value, scope):
        for annotation, where in _said(origin) if isinstance(origin, Parameter) else ():
            owner = program.resolve(annotation, where)
            member = program.names.class_member(owner, field.attr) if isinstance(owner, Scope) else None
            if isinstance(member, Variable) and member.bindings[-1].value is not None:
                return program.literal(member.bindings[-1].value, member.scope)
    return UNKNOWN


def declared_length(parameter: ast.AST) -> int | None:
    """The number of items that an annotation such as `tuple[int, int]` gives."""
    match parameter:
        case ast.arg(annotation=ast.Subscript(value=holder, slice=ast.Tuple(elts=items))):
            open_ended = any(isinstance(item, ast.Constant) and item.value is ... for item in items)
            return len(items) if last_name(holder) in ("tuple", "Tuple") and not open_ended else None
    return None


def _said(parameter: Parameter) -> Iterator[tuple[ast.expr, Scope]]:
    """The annotation of a parameter, or those of the parameters that constructions in its file pass for it."""
    function = parameter.scope
    own = _annotation(parameter.name, function)
    if own is not None:
        yield own, function.parent or function
    elif function.name.endswith("__init__") and isinstance(function.parent, Scope):
        for call, caller in function.facts.calls.get(function.parent.own_name, ()):
            passed = argument_for(call, function, parameter.name)
            said = _annotation(passed.id, caller) if isinstance(passed, ast.Name) else None
            if said is not None:
                yield said, caller.parent or caller


def _annotation(name: str, function: Scope) -> ast.expr | None:
    bindings = function.bindings.get(name, [])
    node = bindings[0].node if bindings else None
    return node.annotation if isinstance(node, ast.arg) else None
