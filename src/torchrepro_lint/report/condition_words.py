"""Conditions of the catalogue in words: all of them; a finding's message has only those that the call decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchrepro_lint.kernels.conditions import clause, wording
from torchrepro_lint.kernels.operations import Condition


def alternatives(conditions: Sequence[Condition]) -> str:
    """`a and b, or c`; empty where nothing is asked."""
    return ", or ".join(words for condition in conditions if (words := " and ".join(_all(condition))))


def _all(condition: Condition) -> Iterator[str]:
    for name, test in condition.items():
        yield from _one(name, test)


def _one(name: str, test: Mapping[str, Any]) -> Iterator[str]:
    if test.get("given") is False:
        yield f"without `{name}=`"
    elif words := wording(name, test):
        yield words
    elif not {"in", "not_in"} & test.keys():
        yield clause(name, test)
