"""The arguments of a call as plain values, for those who want to run the operation themselves.

Says only what the source shows: an argument whose value the run decides is left out, and so is a default.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from torchrepro_lint.model import Property
from torchrepro_lint.program.arguments import CallSite
from torchrepro_lint.program.calls import Argument
from torchrepro_lint.program.kernels.conditions import Holds, value_holds
from torchrepro_lint.program.kernels.operations import Condition


def literals(site: CallSite, conditions: Sequence[Condition]) -> dict[str, Property]:
    """Parameter -> value, of the call and of the calls of a module that it constructs.

    Where several values are possible it is the one for which the conditions hold.
    """
    tests = {name: test for condition in conditions for name, test in condition.items()}
    found: dict[str, Property] = {}
    for name, values in _passed(site, tests):
        test = tests.get(name, {})
        fitting = [v for v in values if _on_values(test) and value_holds(v, name, test, site) is Holds.YES]
        if fitting or len(set(map(repr, values))) == 1:
            value = (fitting or values)[0]
            if _is_plain(value):
                found[name] = value
    return found


def _passed(site: CallSite, tests: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, list[object]]]:
    for name in site.signature.parameters:
        if isinstance(site.argument(name), Argument):
            yield name, [v.value for v in site.values(name)]
    for keyword in site.call.node.keywords:
        if keyword.arg is not None and keyword.arg not in site.signature.parameters:
            value = site.call.program.literal(keyword.value, site.call.scope)
            yield keyword.arg, [value]
    for name in sorted(site.signature.called.keys() & tests.keys()):
        yield name, [value for value, _ in site.called_with(name)]


def _on_values(test: Mapping[str, object]) -> bool:
    return not test.keys().isdisjoint(("in", "not_in", "length_in", "at_least"))


def _is_plain(value: object) -> TypeGuard[Property]:
    match value:
        case float():
            return math.isfinite(value)
        case None | bool() | int() | str():
            return True
        case list():
            return all(map(_is_plain, value))
    return False
