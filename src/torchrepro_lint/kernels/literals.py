"""The arguments of a call as plain values, for those who want to run the operation themselves.

Says only what the source shows: an argument whose value the run decides is left out, and so is a default.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from torchrepro_lint.dataflow import Site
from torchrepro_lint.elements import Property
from torchrepro_lint.kernels.arguments import UNREADABLE, Each, OperationCall
from torchrepro_lint.kernels.conditions import Holds, value_holds
from torchrepro_lint.kernels.operations import Condition

_ON_VALUES = ("in", "not_in", "length_in", "at_least")  # the tests that speak of values


def literals(site: OperationCall, conditions: Sequence[Condition]) -> dict[str, Property]:
    """Parameter -> value, of the call and of the calls of a module that it constructs.

    What the conditions speak of is followed to where it comes from; of several possible values it is the one for
    which they hold. Any other argument counts where its value stands in the call itself.
    """
    every = ((name, test) for condition in conditions for name, test in condition.items())
    tests = {name: test for name, test in every if not test.keys().isdisjoint(_ON_VALUES)}
    found: dict[str, Property] = {}
    for name, node in _passed(site):
        value = _decisive(site, name, tests[name]) if name in tests else _written(node)
        if _is_plain(value):
            found[name] = value
    for name in sorted(site.signature.called.keys() & tests.keys()):
        value = _fitting([value for value, _ in site.called_with(name)], name, tests[name], site)
        if _is_plain(value):
            found[name] = value
    return found


def _passed(site: OperationCall) -> Iterator[tuple[str, ast.expr]]:
    for name in site.signature.parameters:
        if isinstance(argument := site.argument(name), Site):
            yield name, argument.node
    for keyword in site.call.node.keywords:
        if keyword.arg is not None and keyword.arg not in site.signature.parameters:
            yield keyword.arg, keyword.value


def _decisive(site: OperationCall, name: str, test: Mapping[str, object]) -> object:
    values = [v.value for v in site.values(name)]
    return _fitting([w for v in values for w in (v.values if isinstance(v, Each) else (v,))], name, test, site)


def _fitting(values: Sequence[object], name: str, test: Mapping[str, object], site: OperationCall) -> object:
    """The value that passes the test, or else the only one there is."""
    fitting = [v for v in values if value_holds(v, name, test, site) is Holds.YES]
    return fitting[0] if fitting else values[0] if len(set(map(repr, values))) == 1 else UNREADABLE


def _written(node: ast.expr) -> object:
    if isinstance(node, ast.Name | ast.Attribute):
        return UNREADABLE
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):  # a set of lists, or a key that is one
        return UNREADABLE
    return list(value) if isinstance(value, tuple) else value


def _is_plain(value: object) -> TypeGuard[Property]:
    match value:
        case float():
            return math.isfinite(value)
        case None | bool() | int() | str():
            return True
        case list():
            return all(map(_is_plain, value))
    return False
