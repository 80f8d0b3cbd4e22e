"""Command lines that make a whole program from a configuration file, as Lightning's `LightningCLI(Model)` does: which
files they read, and what stands there. Their users name the file, or it is the one that the code gives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchrepro_lint.dataflow.abstract_values import Display
from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.configured_values import contents, rows
from torchrepro_lint.dataflow.grafts import written_entries
from torchrepro_lint.dataflow.mappings import entries_of
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts


def interfaces() -> Mapping[str, Mapping[str, Any]]:
    """Canonical name -> row, of the catalogue's command lines."""
    return rows("interfaces")


def entries(call: Call, key: str) -> list[Site]:
    """What stands under `key` in each file that a command line may read and that has it."""
    found = (dict(written_entries(*contents(facts))) for facts in _files(call))
    return [top[key] for top in found if key in top]


def _files(call: Call) -> Iterator[ModuleFacts]:
    """The files that the code gives; else all of the project that have the form of its configurations."""
    row = interfaces()[call.name]
    read = call.program.project.configurations
    given = _given(call, row)
    if given is not None:
        found = [facts for path in given for facts in read.meant(path, call.facts.source.path)]
    else:
        found = read.every_yaml()
    for facts in found:
        top = contents(facts)
        keys = {key for key, _ in written_entries(*top)} if isinstance(top.node, ast.Dict) else set()
        if keys and (given is not None or (row["entry"] in keys and not keys.isdisjoint(row["beside"]))):
            yield facts


def _given(call: Call, row: Mapping[str, Any]) -> list[str] | None:
    """The paths that are passed to its parser, which it reads whatever its user names."""
    passed = call.argument(row["parser"])
    if not isinstance(passed, Site):
        return None
    held = entries_of(*passed, call.program) or {}
    listed = held.get(row["files"])
    origins = call.program.origins(*listed) if listed is not None else []
    match origins:
        case [Display(node=ast.List(elts=elements) | ast.Tuple(elts=elements), scope=scope)]:
            paths = [call.program.literal(element, scope) for element in elements]
            return [path for path in paths if isinstance(path, str)] if paths else None
    return None
