"""TRP407: a flag that PyTorch does not have is set, so nothing changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.dataflow import Module, Program, remembered_in_file
from torchrepro_lint.index import ModuleFacts, Scope, walk
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.project.versions import effective
from torchrepro_lint.syntax import import_module

MISPLACED = ("benchmark", "deterministic", "allow_tf32")
NEAR, FAR = 0.8, 0.6  # how alike two names are: a near miss, and the best guess at what an unknown name means


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Assignments to attributes that the owner lacks, or that belong to another module."""
    if "backends" in module.facts.source.text:
        for owner in catalogue.table("backend_flags")["owners"]:
            yield from _unknown(module, program, owner)
    if any(name in module.facts.attribute_sets for name in MISPLACED):
        for row in catalogue.table("backend_flags")["misplaced"]:
            yield from _misplaced(module, program, row)


def _unknown(module: Module, program: Program, owner: Mapping[str, Any]) -> Iterator[Draft]:
    for target, name, scope in _targets(module.facts, owner["name"]):
        if name in owner["settable"] or name in owner["other"] or name.startswith("_"):
            continue
        held = target.args[0] if isinstance(target, ast.Call) else target.value
        if program.qualified(held, scope) != owner["name"]:
            continue
        meant = _nearest(name, owner, program)
        if meant is None and not owner["strict"]:
            continue
        values = {"owner": owner["name"], "name": name, "meant": meant or ""}
        kind = owner["unknown"] + ("" if meant else "_without_guess")
        edits = (_respelt(module.facts, target, meant),) if meant else ()
        statement = module.facts.statement(target)
        message = None if kind == "ignored" else kind
        unsafe = _takes_liberties(meant or "", statement) or name in _read(module.facts)
        yield Draft(statement, values, message, edits=edits, unsafe=unsafe)


def _targets(facts: ModuleFacts, owner: str) -> Iterator[tuple[ast.Attribute | ast.Call, str, Scope]]:
    """What is set on something that may be `owner` here: (target, attribute, scope)."""
    last = owner.rpartition(".")[2]
    imported = {name for name, found in facts.scope.bindings.items() if any(b.target == owner for b in found)}
    spelled = {last, *facts.aliases.get(last, ()), *imported}
    for name, items in facts.attribute_sets.items():
        for item in items:
            held = item.target.value
            if (held.attr if isinstance(held, ast.Attribute) else getattr(held, "id", None)) in spelled:
                yield item.target, name, item.scope
    for call, scope in facts.calls.get("setattr", ()):
        match call.args:
            case [ast.Name() | ast.Attribute(), ast.Constant(value=str(name)), _]:
                yield call, name, scope


@remembered_in_file
def _read(facts: ModuleFacts) -> frozenset[str]:
    """The attributes that a file reads: one that it has made up itself is kept there for later."""
    return frozenset(n.attr for n in walk(facts.tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load))


def _nearest(name: str, owner: Mapping[str, Any], program: Program) -> str | None:
    """The settable name that `name` most resembles, among those that the program's PyTorch has."""
    from difflib import get_close_matches

    from packaging.version import Version

    torch = effective(program.project.torch_version)
    since = owner.get("since", {})
    names = [n for n in owner["settable"] if torch >= Version(since.get(n, "0"))]
    found = get_close_matches(name.lower(), names, n=1, cutoff=FAR if owner["strict"] else NEAR)
    return found[0] if found else None


def _respelt(facts: ModuleFacts, target: ast.Attribute | ast.Call, meant: str) -> Edit:
    if isinstance(target, ast.Call):
        return Edit(facts.source.rel, facts.range(target.args[1]), f'"{meant}"')
    end = facts.range(target).end
    return Edit(facts.source.rel, Range(Position(end.line, end.column - len(target.attr)), end), meant)


def _takes_liberties(meant: str, statement: ast.stmt) -> bool:
    """Whether a switch that is off by default, and that nothing has turned on so far, may come on: autotuning, or less
    precise kernels."""
    if meant != "benchmark" and not meant.startswith("allow_"):
        return False
    given = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):  # setattr(cudnn, "benckmark", True)
        given = statement.value.args[-1]
    return not (isinstance(given, ast.Constant) and given.value is False)


def _misplaced(module: Module, program: Program, row: Mapping[str, Any]) -> Iterator[Draft]:
    facts = module.facts
    for item in facts.attribute_sets.get(row["meant"].rpartition(".")[2], ()):
        written = f"{program.qualified(item.target.value, item.scope)}.{item.target.attr}"
        if written in row["written"]:
            torch = import_module(facts, "torch", item.scope, item.statement)
            text = torch.text + row["meant"].removeprefix("torch")
            edits = (Edit(facts.source.rel, facts.range(item.target), text), *torch.edits)
            owner, _, name = written.rpartition(".")
            values = {"owner": owner, "name": name, "meant": row["meant"]}
            unsafe = _takes_liberties(row["meant"].rpartition(".")[2], item.statement)
            yield Draft(item.statement, values, "misplaced", edits=edits, unsafe=unsafe)
