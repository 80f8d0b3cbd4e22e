"""Pipelines of augmentation that are made without a seed and have generators of their own, which no seed of the
program's reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Call, Module, Program


def unseeded_augmentation(module: Module, program: Program) -> Iterator[Draft]:
    """The outermost of each, where one of its transforms draws and nothing in the project seeds one later."""
    for row in catalogue.table("loaders")["augmentations"]:
        unseeded = row.get("unseeded")
        if unseeded is None or not module.facts.source.matches(row["package"]):
            continue
        from torchrepro_lint.loading.worker_calls import draws_by_itself  # imported late: large

        for call in module.calls(unseeded["names"]):
            if not draws_by_itself(call.name, call.node, call.scope, program) or _is_part(call):
                continue
            if program.project.text.containing(f".{unseeded['method']}(") != []:
                return
            release = f"the installed {row['package']} is {row['since']} or newer"
            yield Draft(call.node, {"call": call.written}, "augmentation", depends=(release,))


def _is_part(call: Call) -> bool:
    """Whether it stands in the list of another pipeline, which has it draw from its own generators."""
    around = call.facts.parents.get(call.node)
    return isinstance(around, ast.List | ast.Tuple) and isinstance(call.facts.parents.get(around), ast.Call)
