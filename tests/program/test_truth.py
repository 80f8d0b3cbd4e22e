"""How tests come out on values that are known by default."""

from __future__ import annotations

import ast

import pytest

from torchrepro_lint.dataflow.outcomes import COMPARE, Truth, joined, truth_of
from torchrepro_lint.project.declarations import Default

ALWAYS, NEVER, USUALLY, RARELY, UNKNOWN = Truth.ALWAYS, Truth.NEVER, Truth.USUALLY, Truth.RARELY, Truth.UNKNOWN


@pytest.mark.parametrize(
    ("values", "truth"),
    [
        ([Default(1, settable=False)], ALWAYS),
        ([Default(1, settable=True)], USUALLY),
        ([Default(1, settable=False), Default(2, settable=True)], USUALLY),
        ([Default(0, settable=False)], NEVER),
        ([Default(None, settable=True)], RARELY),
        ([Default(0, settable=False), Default(1, settable=False)], UNKNOWN),
        ([], UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_a_value_that_the_user_can_set_is_never_certain(values: list[Default] | None, truth: Truth) -> None:
    assert truth_of(values, bool) is truth


@pytest.mark.parametrize(
    ("left", "right", "either"),
    [
        (ALWAYS, UNKNOWN, ALWAYS),
        (USUALLY, ALWAYS, ALWAYS),
        (USUALLY, UNKNOWN, USUALLY),
        (RARELY, USUALLY, USUALLY),
        (RARELY, UNKNOWN, UNKNOWN),
        (NEVER, UNKNOWN, UNKNOWN),
        (NEVER, RARELY, RARELY),
        (NEVER, NEVER, NEVER),
    ],
)
def test_or_takes_the_stronger_and_and_the_weaker(left: Truth, right: Truth, either: Truth) -> None:
    for truths in ([left, right], [right, left]):
        assert joined(truths, any_of=True) is either
        assert joined([t.inverted() for t in truths], any_of=False) is either.inverted()


@pytest.mark.parametrize(
    ("operator", "holds"),
    [
        (ast.Is, [False, False, True]),
        (ast.IsNot, [True, True, False]),
        (ast.Eq, [False, False, True]),
        (ast.NotEq, [True, True, False]),
        (ast.Gt, [False, True, False]),
        (ast.GtE, [False, True, True]),
        (ast.Lt, [True, False, False]),
        (ast.LtE, [True, False, True]),
    ],
)
def test_a_comparison_holds_as_in_python(operator: type[ast.cmpop], holds: list[bool]) -> None:
    assert [COMPARE[operator](a, b) for a, b in ((1, 2), (2, 1), (2, 2))] == holds
