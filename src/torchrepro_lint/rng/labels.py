"""Numbers that are drawn to tell one run from another: the name of a run, a port, or the default of the seed's option.

They are to differ, and what the program computes does not depend on them.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.rng.draws import Draw
from torchrepro_lint.rng.seed_options import SEED_NAME

# What draws one number, and how it is put into words.
_NUMBERS = re.compile(r"(?:rand(?:int|range|om)?|getrandbits|integers|random_integers|uniform)")
_WORDS = frozenset({"str", "int", "hex", "format"})
_LABELS = re.compile(r"(?:^|_)(?:name|port|(?:run|exp|experiment|job|session|wandb)_?id|uid|uuid|suffix)$", re.IGNORECASE)


def is_label(draw: Draw, program: Program) -> bool:
    """Whether one number is drawn for what such a name, an option or a setting of the environment holds."""
    if not _NUMBERS.fullmatch(draw.what.rpartition(".")[2]):
        return False
    told = _held_by(draw.node, draw.scope)
    return program.by_name(told is not None, "that a number tells runs apart", draw.scope, told or "")


def _held_by(call: ast.Call, scope: Scope) -> str | None:
    for node, holder in pairwise((call, *scope.facts.ancestors(call))):
        match holder:
            case ast.JoinedStr() | ast.FormattedValue() | ast.BinOp() | ast.keyword():
                pass
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                flags = (a.value.lstrip("-").replace("-", "_") for a in holder.args if _is_text(a))
                is_default = isinstance(node, ast.keyword) and node.arg == "default"
                return next((f for f in flags if is_default and (SEED_NAME.fullmatch(f) or _LABELS.search(f))), None)
            case ast.Call(func=function) if last_name(function) in _WORDS:
                pass
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(name)))]):
                return name if _LABELS.search(name) else None
            case ast.Assign(targets=[target]):
                return last_name(target) if _LABELS.search(last_name(target)) else None
            case _:
                return None
    return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
