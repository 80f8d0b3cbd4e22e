"""Pipelines of DALI, whose operators draw from generators that the pipeline seeds: anew on each run, where it has no
seed itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Call, Module, Program, Site
from torchrepro_lint.dataflow.binding import CONSTRUCTOR, is_super
from torchrepro_lint.dataflow.execution_count import runs_often
from torchrepro_lint.index import Scope, last_name, walk
from torchrepro_lint.model import Certainty
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.own_seed import generator_seed


def unseeded_pipeline(module: Module, program: Program) -> Iterator[Draft]:
    """Each pipeline that draws, and is given no seed where it is made."""
    for row in catalogue.table("generators")["pipelines"]:
        if is_test(module.facts) or not module.facts.source.matches(row["package"]):
            continue
        drawn: dict[ast.AST, bool] = {}
        made = [(*found, row["position"]) for found in _constructed(row, module)]
        for call, body, position in (*made, *((*found, None) for found in _decorated(row, module))):
            given = call.argument(row["seed"], position)
            if body not in drawn:
                drawn[body] = _draws(body, row["words"])
            if drawn[body] and _is_unset(given, row, program):
                is_once = given is None and not runs_often(program, call.node, call.scope)
                seed = generator_seed(call.scope, call.node, program) if is_once else ""
                yield Draft(
                    call.node,
                    {"call": call.written},
                    "pipeline",
                    certainty=Certainty.CERTAIN if given is None else Certainty.LIKELY,
                    properties={"family": "pipeline"},
                    edits=passing(call, row["seed"], seed) if is_once else (),
                    unsafe=True,  # each rank of several needs a seed of its own
                )


def _is_unset(given: object, row: Mapping[str, Any], program: Program) -> bool:
    """Whether a seed is left out, None, or the number that stands for none."""
    if not isinstance(given, Site):
        return given is None
    constants = program.constants(given.node, given.scope)
    return constants is not None and all(value in (None, row["unset"]) for value in constants)


def _constructed(row: Mapping[str, Any], module: Module) -> Iterator[tuple[Call, ast.AST]]:
    """`Pipeline(...)`, and what the constructor of a class that derives from it passes on."""
    for call in module.calls(row["names"]):
        if call.subclass is None:
            yield call, call.scope.function.node
    for node, scope in module.facts.calls.get(CONSTRUCTOR, ()):
        owner = scope.method_class
        if owner is None or not isinstance(node.func, ast.Attribute) or not is_super(node.func.value):
            continue
        if not set(row["names"]).isdisjoint(module.program.external_bases(owner)):
            yield Call(node, scope, row["names"][0], module.program), owner.node


def _decorated(row: Mapping[str, Any], module: Module) -> Iterator[tuple[Call, ast.AST]]:
    """The calls of a function that a decorator makes a pipeline of, where that gives no seed itself."""
    program = module.program
    for function in module.facts.scope.descend():
        if isinstance(function.node, ast.FunctionDef) and _is_unseeded(function.node, row, function, program):
            for node, scope in program.callers_of(function) or ():
                if all(keyword.arg is not None for keyword in node.keywords) and scope.facts is module.facts:
                    yield Call(node, scope, row["names"][0], program), function.node


def _is_unseeded(node: ast.FunctionDef, row: Mapping[str, Any], function: Scope, program: Program) -> bool:
    for decorator in node.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        if program.qualified(made, function.parent or function) in row["decorators"]:
            given = {k.arg for k in decorator.keywords} if isinstance(decorator, ast.Call) else set()
            return given.isdisjoint({None, row["seed"]})
    return False


def _draws(body: ast.AST, words: list[str]) -> bool:
    """Whether something in the code is named as an operator, or an argument, that draws: `fn.random.coin_flip()`,
    `random_shuffle=True`, but not `random_shuffle=False`."""
    for node in walk(body):
        match node:
            case ast.keyword(arg=str(name), value=value):
                is_off = isinstance(value, ast.Constant) and not value.value
                if not is_off and any(word in name for word in words):
                    return True
            case ast.Attribute() | ast.Name() if any(word in last_name(node) for word in words):
                return True
    return False
