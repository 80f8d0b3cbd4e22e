"""Whether a file starts other Python processes: itself again, or workers that are not forked.

What such a process reads when it starts, above all environment variables, can still be set by the one that
starts it. Forked processes read nothing anew and do not count.
"""

from __future__ import annotations

import ast
import re

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, NodeSite, Program
from torchrepro_lint.index import Scope, arguments_of, walk

_PYTHON = re.compile(r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed|horovodrun|mpirun|srun)\b")


def starts_python(module: Module, program: Program) -> bool:
    """Whether the file holds a call that starts a Python which reads its environment anew."""
    table = catalogue.table("generators")["starters"]
    if module.calls(table["any"]):
        return True
    parts = (part for call in module.calls(table["python"]) for part in _parts(call, program))
    if any(_is_python(*part, program) for part in parts):
        return True
    return any(call.literal("method", 0) in table["methods"] for call in module.calls(table["method"]))


def _parts(call: Call, program: Program) -> list[NodeSite]:
    """What the arguments consist of, a command kept in a variable included."""
    values = arguments_of(call.node)
    found: list[NodeSite] = [(n, call.scope) for v in values for n in walk(v)]
    for value in values:
        if isinstance(value, ast.Name):
            for origin in program.origins(value, call.scope):
                node, scope = getattr(origin, "node", None), getattr(origin, "scope", None)
                if isinstance(node, ast.AST) and isinstance(scope, Scope):
                    found += [(n, scope) for n in walk(node)]
    return found


def _is_python(node: ast.AST, scope: Scope, program: Program) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return bool(_PYTHON.search(text))
        case ast.Name() | ast.Attribute():
            return program.qualified(node, scope) in ("sys.executable", "sys.argv")
    return False
