"""Conditions of the catalogue in words."""

from __future__ import annotations

from typing import Any

import pytest

from torchrepro_lint.kernels.operations import Operation, every
from torchrepro_lint.report.operation_facts import alternatives


@pytest.mark.parametrize(
    "test, words",
    [
        ({"in": ["sum"]}, '`x="sum"`'),
        ({"in": ["sum", "mean"]}, '`x="sum"` or `"mean"`'),
        ({"not_in": [1]}, "`x` other than 1"),
        ({"given": True}, "`x=`"),
        ({"given": False}, "without `x=`"),
        ({"each_in": [1]}, "`x` is 1 in each dimension, or as large as the input"),
        ({"at_least": "kernel_size"}, "`x` is no smaller than `kernel_size`"),
        ({"single": "dim"}, "`x` has a size of 1 along `dim`"),
        ({"holds": 0}, "`x` holds a 0"),
        ({"rank_min": 3}, "`x` of 3 or more dimensions"),
        ({"floating": False}, "`x` holds integers"),
        ({"gradient": True, "unknown": "silent"}, "`x` requires a gradient"),
        ({"tensor": True, "floating": True}, "`x` holds floats and `x` is a tensor"),
        ({"unique": True}, "`x` has no repeated values"),
        ({"whole": True}, "the values of `x` are whole numbers"),
    ],
)
def test_a_condition_in_words(test: dict[str, Any], words: str) -> None:
    assert alternatives([{"x": test}]) == words


def test_conditions_together_and_alternatives() -> None:
    first, second = {"a": {"in": [1]}, "b": {"in": [2]}}, {"c": {"given": True}}
    assert alternatives([first, second]) == "`a=1` and `b=2`, or `c=`"
    assert alternatives([]) == ""


@pytest.mark.parametrize("operation", every(), ids=lambda op: op.id)
def test_no_condition_of_the_catalogue_goes_untold(operation: Operation) -> None:
    behaviours = [condition for behaviour in operation.behaviour for condition in behaviour.when]
    for condition in (*operation.when, *operation.exact, *behaviours):
        words = alternatives([condition])
        assert [name for name in condition if f"`{name}" not in words] == []
