"""Which calls of the builtin `hash` give another number in every process: those of text, bytes, and tuples of them.

Python salts these hashes unless PYTHONHASHSEED is set before it starts; those of numbers are the same everywhere.
Knows nothing of what is done with the hash.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import Scope
from torchrepro_lint.rng.texts import Evidence, Texts

HASH = "builtins.hash"
_CERTAINTY = {Evidence.NAME: Certainty.LIKELY, Evidence.SURE: Certainty.CERTAIN}


def salted(call: ast.Call, scope: Scope, program: Program) -> Certainty | None:
    """Whether `call` is a salted hash: certain, likely by its argument's name, or not known to be."""
    if len(call.args) != 1 or program.callee(call, scope) != HASH:
        return None
    return _CERTAINTY.get(Texts(program).is_text(call.args[0], scope))
