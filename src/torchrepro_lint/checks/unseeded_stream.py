"""Streams of samples that are shuffled by a generator of the library's own, which begins in another state on every
run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Call, Module, Program
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.execution_count import runs_often
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Certainty, Edit
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.own_seed import generator_seed

MAX_STAGES = 20
"""The longest chain of methods that is looked through, with what the names in it are bound to."""


def unseeded_stream(module: Module, program: Program) -> Iterator[Draft]:
    """Each shuffle that is given no generator and no seed."""
    for row in catalogue.table("generators")["streams"]:
        if not module.facts.source.matches(row["package"]) or is_test(module.facts):
            continue
        for call in _shuffles(row, module, program):
            size = call.literal(row["size"], 0, default=None) if "size" in row else 1
            if size not in (0, False) and not _is_given(call, row):
                yield Draft(
                    call.node,
                    {"call": call.written.rpartition(".")[2]},
                    row["message"],
                    certainty=Certainty.CERTAIN if isinstance(size, int) else Certainty.LIKELY,
                    properties={"family": "stream"},
                    edits=_seeded(call, program) if "size" not in row else (),
                )


def _is_given(call: Call, row: Mapping[str, Any]) -> bool:
    """Whether a shuffle may be given a generator or a seed; where no size comes first, these can be passed by place."""
    places = dict.fromkeys(row["arguments"]) if "size" in row else {n: i for i, n in enumerate(row["arguments"])}
    return any(call.argument(name, place) is not None for name, place in places.items())


def _seeded(call: Call, program: Program) -> tuple[Edit, ...]:
    is_once = not runs_often(program, call.node, call.scope)
    return passing(call, "seed", generator_seed(call.scope, call.node, program), 0) if is_once else ()


def _shuffles(row: Mapping[str, Any], module: Module, program: Program) -> Iterator[Call]:
    yield from module.calls(row["functions"])
    for method in row["methods"]:
        for node, scope in module.facts.calls.get(method, ()):
            if isinstance(node.func, ast.Attribute) and _is_stream(node.func.value, scope, row, program):
                yield Call(node, scope, method, program)


def _is_stream(value: ast.expr, scope: Scope, row: Mapping[str, Any], program: Program) -> bool:
    """Whether a chain of methods begins with one of these: `WebDataset(urls).decode().shuffle(100)`."""
    for _ in range(MAX_STAGES):
        while isinstance(value, ast.Subscript):  # `streams["train"]`
            value = value.value
        match program.origins(value, scope):
            case [Result(callee=str() as made, node=ast.Call() as call, scope=where), *_] if made in row["names"]:
                needed = row.get("needs", {}).get(made)
                return needed is None or Call(call, where, made, program).literal(needed) is True
            case [Result(node=ast.Call(func=ast.Attribute(value=inner, attr=method)), scope=where), *_]:
                if method in row.get("turned_by", ()):
                    return True
                value, scope = inner, where
            case _:
                return False
    return False
