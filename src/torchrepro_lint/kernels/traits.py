"""What is known of a tensor: that it is one, its number of dimensions, floats or not, gradient or not.

Knows how two of them meet, in a branch and in arithmetic; `signatures` knows what calls make of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Traits(NamedTuple):
    """Three-valued where None means unknown; the number of dimensions lies in `least`..`most`.

    `whole` is true of values that are whole numbers in any type: their sums are exact in any order.
    `unique` is true of an index that names no place twice; `single` is a dimension of size 1, as it was written;
    `host` is true of a tensor that was made on the CPU and did not leave it.
    """

    tensor: bool | None = None
    least: int = 0
    most: int | None = None
    floating: bool | None = None
    gradient: bool | None = None
    whole: bool | None = None
    unique: bool | None = None
    single: int | None = None
    host: bool | None = None

    @property
    def rank(self) -> int | None:
        """The number of dimensions, if it is known."""
        return self.least if self.least == self.most else None

    def ranked(self, rank: int) -> Traits:
        """The same with `rank` dimensions."""
        return self._replace(least=rank, most=rank)

    def unranked(self, least: int = 0) -> Traits:
        """The same with an unknown number of dimensions."""
        return self._replace(least=least, most=None)

    def shifted(self, low: int, high: int) -> Traits:
        """The same with `low` to `high` more dimensions."""
        most = None if self.most is None else max(self.most + high, 0)
        return self._replace(least=max(self.least + low, 0), most=most)

    def at_least(self, rank: int) -> Traits:
        """The same, and known to have `rank` dimensions or more."""
        most = self.most if self.most is None else max(self.most, rank)
        return self._replace(least=max(self.least, rank), most=most)


_TOLD = ("tensor", "floating", "gradient", "whole", "unique", "single", "host")  # what None is unknown of
UNKNOWN_TRAITS = Traits()
NOT_A_TENSOR = Traits(tensor=False, gradient=False)
TENSOR = Traits(tensor=True)
STORED = Traits(gradient=False)  # a tensor, or what holds tensors that were stored
WHOLE_NUMBERS = Traits(tensor=True, floating=False, gradient=False, whole=True)


def joined(found: Sequence[Traits]) -> Traits:
    """What holds of all of them."""
    if not found:
        return UNKNOWN_TRAITS
    first, *rest = found
    for other in rest:
        most = None if first.most is None or other.most is None else max(first.most, other.most)
        unlike = {name: None for name in _TOLD if getattr(first, name) != getattr(other, name)}
        first = first._replace(least=min(first.least, other.least), most=most, **unlike)
    return first


def broadcast(left: Traits, right: Traits) -> Traits:
    """The result of arithmetic on the two; a number that is no tensor has no dimensions."""
    sides = [t.ranked(0) if t.tensor is False else t for t in (left, right)]
    most = None if any(s.most is None for s in sides) else max(s.most or 0 for s in sides)
    return Traits(
        _either(left.tensor, right.tensor),
        max(s.least for s in sides),
        most,
        _either(left.floating, right.floating),
        _either(left.gradient, right.gradient),
        True if left.whole and right.whole else None,
        host=any(t.host and t.least for t in (left, right)) or None,  # a tensor elsewhere would not go with it
    )


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return False if left is False and right is False else None
