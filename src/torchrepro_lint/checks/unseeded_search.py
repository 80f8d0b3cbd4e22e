"""Searches for parameters that choose what to try next with a generator of their own, which is made without a seed, and
calls that train and then take a seed by themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.dataflow.execution_count import runs_often
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.generators import is_used
from torchrepro_lint.rng.own_seed import generator_seed

SAMPLERS, STUDIES = "samplers", "studies"
_SEARCHES = frozenset({"optimize", "ask"})


def unseeded_search(module: Module, program: Program) -> Iterator[Draft]:
    """Each sampler that is given no seed, and each study that is given no sampler, so that it makes one."""
    if is_test(module.facts):
        return
    samplers, studies = catalogue.names("generators", SAMPLERS), catalogue.names("generators", STUDIES)
    for call in module.calls({*samplers, *studies}):
        row = samplers.get(call.name) or studies[call.name]
        argument, other = row["argument"], row.get("unless")
        if call.subclass is not None or call.given(argument, row.get("position")) is not False:
            continue
        if other is not None and call.given(other) is not False:
            continue
        is_searched = not call.facts.calls.keys().isdisjoint(_SEARCHES)
        if call.name in studies and not (is_searched and is_used(call, program)):
            continue  # a storage is tried out, or the trials of another study are copied
        if any(isinstance(around, ast.ExceptHandler) for around in call.facts.ancestors(call.node)):
            continue
        is_once = row["fix"] and not runs_often(program, call.node, call.scope)
        yield Draft(
            call.node,
            {"call": call.written, "argument": argument},
            "study" if call.name in studies else row.get("message", "search"),
            properties={"family": "search"},
            edits=passing(call, argument, generator_seed(call.scope, call.node, program)) if is_once else (),
            unsafe=True,
        )
