"""TRP110: a library's seed helper is called so that it turns determinism off, or chooses a seed at random."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.configured import is_none, placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Program, Site, remembered
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.options import certainty_of
from torchrepro_lint.dataflow.reachability import cleans_up, reached_by_default
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Certainty, Edit, Level
from torchrepro_lint.project.versions import may_be
from torchrepro_lint.rng.own_seed import seed_text
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.seeded_before import may_be_seeded_before
from torchrepro_lint.seeding.training import is_named_otherwise
from torchrepro_lint.syntax import insert_after


def check(module: Module, program: Program) -> Iterator[Draft]:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in catalogue.table("seed_helpers")["helpers"]:
        for name in row["names"]:
            rows.setdefault(name, []).append(row)
    for call in module.calls(rows.keys()):
        for row in rows[call.name]:
            yield from _judged(call, row, program)


def _judged(call: Call, row: Mapping[str, Any], program: Program) -> Iterator[Draft]:
    passed = call.argument(row["argument"], row.get("position"))
    certainty = _certainty(passed, row, program)
    if certainty is None or not reached_by_default(call.node, call.scope, program, about_seed):
        return
    if ("torch" in row and not may_be(program.project.torch_version, row["torch"])) or _is_provided(row, program):
        return
    if (row["message"] == "off" and _is_undone(call, row)) or not _is_configured(call, row, program):
        return
    if row.get("of_numpy") and may_be_seeded_before(call.node, call.scope, program):
        return
    text = passed.scope.facts.text(passed.node) if isinstance(passed, Site) else ""
    draft = Draft(
        call.node,
        {
            "call": call.written,
            "argument": row["argument"],
            "value": text,
            "setting": row.get("unless", row["argument"]),
        },
        row["message"] if text or row["message"] != "random" else "chosen",
        fix_title=f"Set `{row['unless']}` where the configuration is made" if "below" in row else None,
        level=Level(row["level"]) if "level" in row else None,
        certainty=certainty,
        edits=() if _seeds(row) and runs_often(program, call.node, call.scope) else _edits(call, row, program),
        unsafe=row.get("unsafe", False)
        or (_seeds(row) and not runs_once(program, call.node, call.scope))
        or ("below" in row and is_named_otherwise(call.facts, program)),
    )
    if _seeds(row) and isinstance(passed, Site):
        draft = placed(draft, passed, program, str(program.project.seed), is_none)
    yield draft


def _certainty(passed: object, row: Mapping[str, Any], program: Program) -> Certainty | None:
    """Certain when the argument has a value of the row, likely when it has by default, else None."""
    if passed is None:
        return Certainty(row.get("certainty", "certain")) if row.get("absent") else None
    if passed is UNKNOWN or not isinstance(passed, Site):
        return None
    return certainty_of(*passed, program, lambda value: _applies(value, row))


def _applies(value: object, row: Mapping[str, Any]) -> bool:
    if value is None:
        return bool(row.get("none"))
    return any(value == v and type(value) is type(v) for v in row.get("values", ()))


def _is_provided(row: Mapping[str, Any], program: Program) -> bool:
    """Whether the project itself does what the helper leaves out."""
    word = row.get("unless")
    return word is not None and (
        program.project.text.mentioning(word) != [] or program.project.configurations.mentions(word)
    )


def _is_configured(call: Call, row: Mapping[str, Any], program: Program) -> bool:
    """Whether the configuration that a call is given is one with the library's own defaults, where that counts."""
    if "configuration" not in row:
        return True
    held = call.argument(row["configuration"], 0)
    return isinstance(held, Site) and not program.makers(held.node, held.scope).isdisjoint(row["made_by"])


def _is_undone(call: Call, row: Mapping[str, Any]) -> bool:
    """Whether the call undoes an earlier one: a seed set in the same file, or a test's set-up."""
    if cleans_up(call.node, call.scope, call.program):
        return True
    return _is_given(call.written.rpartition(".")[2], row["argument"], row["position"], call.facts, call.program)


@remembered
def _is_given(spelled: str, argument: str, position: int, facts: ModuleFacts, program: Program) -> bool:
    """Whether any call of this name in a file passes the argument."""
    calls = (Call(node, scope, spelled, program) for node, scope in facts.calls.get(spelled, ()))
    return any(call.given(argument, position) is not False for call in calls)


def _seeds(row: Mapping[str, Any]) -> bool:
    """Whether what should be passed instead is a seed."""
    return "{seed}" in row.get("instead", row.get("below", ""))


def _edits(call: Call, row: Mapping[str, Any], program: Program) -> tuple[Edit, ...]:
    """Replace the value that is written here; an option is left for the user to choose."""
    if "below" in row:
        return _below(call, row, program)
    if "instead" not in row:
        return ()
    text = row["instead"].replace("{seed}", seed_text(call.scope, call.node, program) if _seeds(row) else "")
    return passing(call, row["argument"], text, row.get("position"))


def _below(call: Call, row: Mapping[str, Any], program: Program) -> tuple[Edit, ...]:
    """Give the setting a value where the configuration is made: files and options that are merged into it later win."""
    match call.argument(row["configuration"], 0):
        case Site(node=ast.Name(id=name), scope=scope):
            made = scope.bindings.get(name, [])
        case _:
            return ()
    match made:
        case [only] if isinstance(only.node, ast.Assign) and isinstance(only.node.value, ast.Call):
            seed = seed_text(scope, only.node, program)
            text = row["below"].format(configuration=name, seed=seed)
            is_made = program.callee(only.node.value, scope) in row["made_by"]
            return (insert_after(call.facts, only.node, text),) if is_made else ()
    return ()
