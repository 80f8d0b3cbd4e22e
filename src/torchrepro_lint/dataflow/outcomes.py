"""How a test comes out when the program runs as it is configured by default. Knows values, not where they come from."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection
from enum import Enum
from typing import Any

from torchrepro_lint.project.declarations import Default


class Truth(Enum):
    """How a test comes out: for certain, by default, or unknown."""

    ALWAYS = "always"
    NEVER = "never"
    USUALLY = "usually"
    RARELY = "rarely"
    UNKNOWN = "unknown"

    @property
    def certain(self) -> bool | None:
        """The outcome that no option changes, if there is one."""
        return {Truth.ALWAYS: True, Truth.NEVER: False}.get(self)

    @property
    def usual(self) -> bool | None:
        """The outcome by default, if it is known."""
        return {Truth.USUALLY: True, Truth.RARELY: False}.get(self, self.certain)

    def inverted(self) -> Truth:
        """The truth of `not test`."""
        return _INVERSE[self]


_INVERSE = {
    Truth.ALWAYS: Truth.NEVER,
    Truth.NEVER: Truth.ALWAYS,
    Truth.USUALLY: Truth.RARELY,
    Truth.RARELY: Truth.USUALLY,
    Truth.UNKNOWN: Truth.UNKNOWN,
}

COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
"""What compares two constants."""


def truth_of(values: Collection[Default] | None, holds: Callable[[object], bool]) -> Truth:
    """How a test comes out on an expression that has one of `values`; `holds` tells for each."""
    if not values:
        return Truth.UNKNOWN
    outcomes = {holds(v.value) for v in values}
    if len(outcomes) > 1:
        return Truth.UNKNOWN
    found = Truth.USUALLY if any(v.settable for v in values) else Truth.ALWAYS
    return found if outcomes == {True} else found.inverted()


def joined(truths: list[Truth], *, any_of: bool) -> Truth:
    """`or` of the truths, or `and` by De Morgan."""
    if not any_of:
        return joined([t.inverted() for t in truths], any_of=True).inverted()
    for strongest in (Truth.ALWAYS, Truth.USUALLY, Truth.UNKNOWN, Truth.RARELY):
        if strongest in truths:
            return strongest
    return Truth.NEVER
