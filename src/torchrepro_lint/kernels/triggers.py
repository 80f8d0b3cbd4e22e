"""Which calls of a file the catalogue of operations may describe, told by names alone.

`triggers.txt` lists every spelling, so that no table is read, and nothing else of this analysis imported, for a file
that calls none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from torchrepro_lint.cards import rules_dir
from torchrepro_lint.index import ModuleFacts, Scope

METHOD = "torch.Tensor."


@cache
def triggers() -> Mapping[str, tuple[str, ...]]:
    """Spelling -> the families that have a reported row for it."""
    found: dict[str, tuple[str, ...]] = {}
    text = (rules_dir() / "catalogue" / "ops" / "triggers.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            family, _, names = line.partition(":")
            for name in names.split():
                found[name] = (*found.get(name, ()), family)
    return found


@cache
def _by_last_part() -> tuple[Mapping[str, frozenset[str]], Mapping[str, str]]:
    """Last part -> functions and modules; last part -> tensor method."""
    functions: dict[str, frozenset[str]] = {}
    methods: dict[str, str] = {}
    for name in triggers():
        last = name.rpartition(".")[2]
        if name.startswith(METHOD):
            methods[last] = name
        else:
            functions[last] = functions.get(last, frozenset()) | {name}
    return functions, methods


def any_called(facts: ModuleFacts) -> bool:
    """Whether anything in the file is written like a call of the catalogue."""
    if "torch" not in facts.source.text:
        return False
    functions, methods = _by_last_part()
    return not (functions.keys().isdisjoint(_written(facts)) and methods.keys().isdisjoint(facts.calls))


def mentioned(facts: ModuleFacts) -> frozenset[str]:
    """The functions and modules of the catalogue that this file may call, by the last part of what it writes."""
    functions, _ = _by_last_part()
    return frozenset(name for last in functions.keys() & _written(facts) for name in functions[last])


def derives(facts: ModuleFacts) -> bool:
    """Whether a class at the top of the file derives from something that is called like a spelling."""
    functions, _ = _by_last_part()
    return not functions.keys().isdisjoint(_base_names(facts))


def function_calls(facts: ModuleFacts) -> Iterator[tuple[frozenset[str], ast.Call, Scope]]:
    """(spellings, call, scope) of the calls written like a function or module of the catalogue."""
    functions, _ = _by_last_part()
    for last in sorted(functions.keys() & (facts.calls.keys() | facts.aliases.keys())):
        for spelled in (last, *sorted(facts.aliases.get(last, ()))):
            for call, scope in facts.calls.get(spelled, ()):
                yield functions[last], call, scope


def method_calls(facts: ModuleFacts) -> Iterator[tuple[str, ast.Call, Scope]]:
    """(method, call, scope) of the calls written like a method of the catalogue."""
    _, methods = _by_last_part()
    for last in sorted(methods.keys() & facts.calls.keys()):
        for call, scope in facts.calls[last]:
            if isinstance(call.func, ast.Attribute):
                yield methods[last], call, scope


def _written(facts: ModuleFacts) -> set[str]:
    """The last parts of calls, of aliased names, and of the bases of the classes at the top of the file."""
    return {*facts.calls, *facts.aliases, *_base_names(facts)}


def _base_names(facts: ModuleFacts) -> set[str]:
    found: set[str] = set()
    for node in facts.scope.children:
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            found.add(base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", ""))
    return found
