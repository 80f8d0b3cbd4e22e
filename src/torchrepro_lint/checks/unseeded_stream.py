"""Streams of samples that are shuffled by a generator of the library's own, which it seeds from the process and the
time."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Call, Module, Program
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Certainty
from torchrepro_lint.project.contents import is_test

MAX_STAGES = 20
"""The longest chain of methods that is looked through, with what the names in it are bound to."""


def unseeded_stream(module: Module, program: Program) -> Iterator[Draft]:
    """Each shuffle that is given no generator and no seed."""
    for row in catalogue.table("generators")["streams"]:
        if not module.facts.source.matches(row["package"]) or is_test(module.facts):
            continue
        for call in _shuffles(row, module, program):
            size = call.literal("bufsize", 0, default=None)
            if all(call.argument(name) is None for name in row["arguments"]) and size not in (0, False):
                certainty = Certainty.CERTAIN if isinstance(size, int) else Certainty.LIKELY
                yield Draft(call.node, {"call": call.written.rpartition(".")[2]}, "stream", certainty=certainty,
                            properties={"family": "stream"})  # fmt: skip


def _shuffles(row: dict[str, list[str]], module: Module, program: Program) -> Iterator[Call]:
    yield from module.calls(row["functions"])
    for method in row["methods"]:
        for node, scope in module.facts.calls.get(method, ()):
            if isinstance(node.func, ast.Attribute) and _is_stream(node.func.value, scope, row["names"], program):
                yield Call(node, scope, method, program)


def _is_stream(value: ast.expr, scope: Scope, names: Collection[str], program: Program) -> bool:
    """Whether a chain of methods begins with one of these: `WebDataset(urls).decode().shuffle(100)`."""
    for _ in range(MAX_STAGES):
        match program.origins(value, scope):
            case [Result(callee=str() as made), *_] if made in names:
                return True
            case [Result(node=ast.Call(func=ast.Attribute(value=inner)), scope=where), *_]:
                value, scope = inner, where
            case _:
                return False
    return False
