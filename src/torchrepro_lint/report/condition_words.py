"""Conditions of the catalogue in words: all of them; a finding's message has only those that the call decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchrepro_lint.kernels.conditions import wording
from torchrepro_lint.kernels.operations import Condition

_TRAITS = {
    "floating": ("`{}` holds floats", "`{}` holds integers"),
    "gradient": ("`{}` requires a gradient", "`{}` requires no gradient"),
    "tensor": ("`{}` is a tensor", "`{}` is a number"),
    "whole": ("the values of `{}` are whole numbers", "the values of `{}` are not whole numbers"),
    "unique": ("`{}` has no repeated values", "`{}` may have repeated values"),
}


def alternatives(conditions: Sequence[Condition]) -> str:
    """`a and b, or c`; empty where nothing is asked."""
    return ", or ".join(words for condition in conditions if (words := " and ".join(_all(condition))))


def _all(condition: Condition) -> Iterator[str]:
    for name, test in condition.items():
        yield from _one(name, test)


def _one(name: str, test: Mapping[str, Any]) -> Iterator[str]:
    for key, (yes, no) in _TRAITS.items():
        if key in test:
            yield (yes if test[key] else no).format(name)
    if "single" in test:
        yield f"`{name}` has a size of 1 along `{test['single']}`"
    elif "holds" in test:
        yield f"`{name}` holds a {test['holds']}"
    elif "at_least" in test:
        yield f"`{name}` is no smaller than `{test['at_least']}`"
    elif test.get("given") is False:
        yield f"without `{name}=`"
    elif words := wording(name, test):
        yield words
