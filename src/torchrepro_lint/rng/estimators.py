"""Calls of scikit-learn and pandas that draw from numpy's global generator, for want of a `random_state`.

Knows the catalogue's estimators and when each draws; knows nothing of whether that generator is seeded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, start_of
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.rng.library_objects import LibraryObject

SEED = "random_state"
MOST_POSITIONAL = 2  # of a class; more are the shape of an older version


@cache
def rows() -> Mapping[str, tuple[Mapping[str, Any], ...]]:
    """Canonical name -> the rows that say when a call of it draws."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in catalogue.table("estimators")["estimators"]:
        prefix = f"{row['prefix']}." if "prefix" in row else ""
        for name in row["names"]:
            found.setdefault(prefix + name, []).append(row)
    return {name: tuple(group) for name, group in found.items()}


def unseeded(module: Module) -> list[Call]:
    """The calls of a file that draw from numpy's global generator, in source order."""
    if _is_set_later(module.facts):
        return []
    found = [*filter(_draws, module.calls(rows().keys())), *_samples(module)]
    loaded = _loaded(module.facts) if found else set()
    return sorted((call for call in found if _held_by(call) not in loaded), key=lambda call: start_of(call.node))


def _loaded(facts: ModuleFacts) -> set[tuple[Scope, str]]:
    """The functions and names of objects that are given what they would learn: `kmeans.cluster_centers_ = centers`."""
    learned = (made.target for name, sets in facts.attribute_sets.items() if name.endswith("_") for made in sets)
    places = (*learned, *facts.reads(facts.tree).of_attribute("__dict__"))
    return {(facts.scope_of(p).function, p.value.id) for p in places if isinstance(p.value, ast.Name)}


def _held_by(call: Call) -> tuple[Scope, str] | None:
    match call.facts.parents.get(call.node):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return call.scope.function, name
    return None


def position(call: Call) -> int | None:
    """Where a call takes `random_state` by its place, if it does."""
    if call.name not in rows():
        return int(catalogue.table("estimators")["pandas"]["position"])
    return next((int(row["position"]) for row in rows()[call.name] if "position" in row), None)


def _draws(call: Call) -> bool:
    if call.subclass is not None or not _lacks_seed(call):
        return False
    is_class = call.name.rpartition(".")[2][:1].isupper()
    if is_class and position(call) is None and len(call.node.args) > MOST_POSITIONAL:
        return False
    return any(_applies(row, call) for row in rows()[call.name]) and not _is_part_of_ensemble(call)


def _is_part_of_ensemble(call: Call) -> bool:
    """Whether what is made is given to an ensemble that seeds it: `BaggingClassifier(DecisionTreeClassifier())`."""
    table, facts = catalogue.table("estimators")["ensembles"], call.facts
    parent = facts.parents.get(call.node)
    outer = facts.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(outer, ast.Call):
        return False
    is_first = outer.args[:1] == [call.node] or (isinstance(parent, ast.keyword) and parent.arg in table["keywords"])
    prefix, _, name = (call.program.callee(outer, call.scope) or "").rpartition(".")
    return is_first and prefix == table["prefix"] and name in table["names"]


def _lacks_seed(call: Call) -> bool:
    """Whether `random_state` is surely left out or None."""
    return call.given(SEED, position(call)) is False


def _applies(row: Mapping[str, Any], call: Call) -> bool:
    places = row.get("places", {})
    for name, values in row.get("when", {}).items():
        if call.literal(name, places.get(name), row["default"][name]) not in values:
            return False
    return all(_is_given(call, name, places.get(name)) for name in row.get("given", ()))


def _is_given(call: Call, name: str, place: int | None) -> bool:
    value = call.literal(name, place)
    return call.given(name, place) is True if value is UNKNOWN else value not in (None, False, 0)


def _is_set_later(facts: ModuleFacts) -> bool:
    """Whether `random_state` is set on objects, or by `set_params`, somewhere in the file."""
    if facts.attribute_sets.get(SEED):
        return True
    return any((k.arg or "").endswith(SEED) for call, _ in facts.calls.get("set_params", ()) for k in call.keywords)


# -- pandas ----------------------------------------------------------------------------------------------
def _samples(module: Module) -> Iterator[Call]:
    """`df.sample(...)` of what is known to be pandas'."""
    table = catalogue.table("estimators")["pandas"]
    makers = frozenset(f"pandas.{maker}" for maker in table["makers"])
    tables = LibraryObject(module.program, makers, frozenset(table["methods"]))
    for node, scope in module.facts.calls.get(table["method"], ()):
        if not isinstance(node.func, ast.Attribute):
            continue
        call = Call(node, scope, "pandas.DataFrame.sample", module.program)
        has_frac = "pandas" in call.facts.packages and any(k.arg == table["frac"] for k in node.keywords)
        if (has_frac or tables.holds(node.func.value, scope)) and _lacks_seed(call):
            yield call
