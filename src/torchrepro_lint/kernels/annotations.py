"""What annotations and einops patterns say of a tensor. Reads text only."""

from __future__ import annotations

import ast
import re

from torchrepro_lint.kernels.traits import NOT_A_TENSOR, TENSOR, WHOLE_NUMBERS, Traits

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


def literal_text(node: ast.expr) -> str | None:
    """The text of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def dimensions_of_pattern(node: ast.expr) -> int:
    """The number of dimensions on the right of an einops pattern: `b c h w -> b (h w) c` has 3."""
    right = (literal_text(node) or "").rpartition("->")[2]
    return len(re.sub(r"\([^)]*\)", "g", right).split())
