"""Whether a statement stands after one that surely calls cuBLAS: a matrix product on the GPU, or a training
step.

Looks at what stands earlier in the same blocks, and into the project's functions that are called there.
Knows nothing of what cuBLAS reads or when.
"""

from __future__ import annotations

import ast

from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.dataflow.enclosing import block_of, run_with
from torchrepro_lint.index import Scope

PRODUCTS = frozenset(f"torch.{n}" for n in ("matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "linalg.multi_dot"))
MAX_CALLS = 2  # how deep into called functions a product is looked for
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def used_before(module: Module, statement: ast.stmt) -> ast.AST | None:
    """Where cuBLAS is used before `statement` runs, if that is certain."""
    facts = module.facts
    if "cuda" not in facts.source.text:
        return None
    node: ast.AST = statement
    while not isinstance(node, (ast.Module, *_DEFINITIONS)):
        block = block_of(facts, node)
        above = block[: block.index(node)] if node in block else []
        earlier = [statement for statement in above if not isinstance(statement, _DEFINITIONS)]
        found = (_use(module.program, statement, facts.scope_of(statement), 0) for statement in earlier)
        if (used := next((use for use in found if use is not None), None)) is not None:
            return used
        node = facts.parents[node]
    return None


def _use(program: Program, tree: ast.AST, scope: Scope, depth: int) -> ast.AST | None:
    """The first use in `tree`; a call that leads to one is given itself."""
    for node in run_with([tree]):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return node
        if isinstance(node, ast.Call) and _calls_cublas(program, node, scope, depth):
            return node
    return None


def _calls_cublas(program: Program, call: ast.Call, scope: Scope, depth: int) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        return True
    if program.qualified(call.func, scope) in PRODUCTS:
        return True
    target = program.resolve(call.func, scope) if depth < MAX_CALLS else None
    if not isinstance(target, Scope) or not isinstance(target.node, ast.FunctionDef):
        return False
    body = [statement for statement in target.node.body if not isinstance(statement, _DEFINITIONS)]
    return any(_use(program, statement, target, depth + 1) is not None for statement in body)
