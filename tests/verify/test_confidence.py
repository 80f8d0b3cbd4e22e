"""What a number of repeats shows: against the figures that statisticians' tables give."""

from __future__ import annotations

import pytest

from torchrepro_lint.verify.confidence import interval, upper_bound


@pytest.mark.parametrize(("comparisons", "bound"), [(20, 0.139), (59, 0.0495), (100, 0.0295), (299, 0.0100)])
def test_upper_bound(comparisons: int, bound: float) -> None:
    assert upper_bound(comparisons) == pytest.approx(bound, rel=0.01)


def test_no_comparison_shows_nothing() -> None:
    assert upper_bound(0) == 1.0


@pytest.mark.parametrize(
    ("differing", "comparisons", "expected"),
    [(0, 10, (0.0, 0.3085)), (10, 10, (0.6915, 1.0)), (5, 10, (0.1871, 0.8129)), (1, 300, (0.00008, 0.0184))],
)
def test_clopper_and_pearson(differing: int, comparisons: int, expected: tuple[float, float]) -> None:
    assert interval(differing, comparisons) == pytest.approx(expected, abs=1e-4)
