"""What a number of repeats can and cannot show. Plain arithmetic on counts.

A bound holds for the inputs, the machine and the load of the runs that were counted, and only as far as the runs
were independent, which runs in one warm process are not quite.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_LEVEL = 0.95


def upper_bound(comparisons: int) -> float:
    """The largest share of differing runs that leaves a 5 % chance of seeing none in so many comparisons."""
    return 1 - (1 - _LEVEL) ** (1 / comparisons) if comparisons else 1.0


def interval(differing: int, comparisons: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval for the share of runs that differ."""
    tail = (1 - _LEVEL) / 2
    lower, upper = 0.0, 1.0
    if differing > 0:
        lower = _root(lambda share: 1 - _at_most(differing - 1, comparisons, share) - tail)
    if differing < comparisons:
        upper = _root(lambda share: tail - _at_most(differing, comparisons, share))
    return lower, upper


def _at_most(successes: int, trials: int, share: float) -> float:
    """The probability of no more than so many successes."""
    return math.fsum(math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(successes + 1))


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
