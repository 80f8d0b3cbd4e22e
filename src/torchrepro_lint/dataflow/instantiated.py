"""Calls that no file writes as they are made: what Hydra makes of `instantiate(cfg.loader, dataset=data)`, the trainer
that a LightningCLI makes, and what `make(data)` is after `make = partial(DataLoader, shuffle=True)`. What is asked of
arguments that a configuration gives is known by default.

A command line such as Lightning's `LightningCLI(Model)` makes a whole program from a configuration file: its users name
the file, or it is the one that the code gives.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Display, Result
from torchrepro_lint.dataflow.calls import Call, Module, chosen
from torchrepro_lint.dataflow.configured_values import contents, rows
from torchrepro_lint.dataflow.grafts import graft, written_entries
from torchrepro_lint.dataflow.mappings import entries_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts, Scope


@cache
def makers() -> tuple[str, ...]:
    """The words of which a file has one that has calls made for it."""
    return (*catalogue.last_parts(rows("instantiators")), *catalogue.last_parts(interfaces()), "partial")


def instantiated_calls(module: Module, program: Program, names: Collection[str]) -> Iterator[Call]:
    """The calls of any of these external names that are made for the code of a file."""
    for name in catalogue.last_parts(rows("instantiators")):
        for call, scope in module.facts.calls.get(name, ()):
            yield from _by_hydra(call, scope, program, names)
    for interface in module.calls(interfaces()):
        if interfaces()[interface.name]["makes"] in names:
            yield from _by_interface(interface)
    if "partial" in module.facts.source.text:
        for call, scope in chosen(module.facts, program):
            yield from _by_partial(call, scope, program, names)


def _by_hydra(call: ast.Call, scope: Scope, program: Program, names: Collection[str]) -> Iterator[Call]:
    for made in program.instantiated(call, scope):
        if isinstance(made.target, str) and made.target in names:
            mapping = call.args[0] if made.is_outermost else graft(made.mapping)
            own = call.keywords if made.is_outermost else []
            yield _written_out(Call(call, scope, made.target, program), [], [*own, ast.keyword(None, mapping)])


def _by_interface(call: Call) -> Iterator[Call]:
    """One for each file of which what stands under `entry` is laid over what is passed as `over`."""
    row = interfaces()[call.name]
    passed = call.argument(row["over"])
    defaults = [passed.node] if isinstance(passed, Site) and passed.scope is call.scope else []
    made = call._replace(name=row["makes"], subclass=None)
    for mappings in [[graft(site)] for site in entries(call, row["entry"])] or [[]]:
        yield _written_out(made, [], [ast.keyword(None, mapping) for mapping in (*defaults, *mappings)])


def _by_partial(call: ast.Call, scope: Scope, program: Program, names: Collection[str]) -> Iterator[Call]:
    match program.origins(call.func, scope):
        case [Result(callee="functools.partial", node=ast.Call(args=[first, *held]) as node, scope=where)] if (
            where is scope or where.kind == "module"
        ):
            name = program.qualified(first, where)
            if name in names:
                passed = {keyword.arg for keyword in call.keywords}
                kept = [keyword for keyword in node.keywords if keyword.arg is None or keyword.arg not in passed]
                yield _written_out(Call(call, scope, str(name), program), [*held, *call.args], [*kept, *call.keywords])


def _written_out(call: Call, passed: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> Call:
    """The call as it is made; of mappings that are unpacked the last wins."""
    written = ast.copy_location(ast.Call(call.node.func, list(passed), list(keywords)), call.node)
    call.facts.parents.adopt(written, call.node)
    return call._replace(node=written)


# -- command lines that make a program ---------------------------------------------------------------------------------
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
    given, own = _given(call, row), call.facts.source.path
    found = (read.every_yaml() or ()) if given is None else [facts for path in given for facts in read.meant(path, own)]
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
