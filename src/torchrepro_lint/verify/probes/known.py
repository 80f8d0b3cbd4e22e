"""Reads what is known of a call's arguments: the value at the site, or the recipe's default where it shows none.

A value that the recipe cannot run is refused by name. Knows no operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchrepro_lint.verify.experiment import Unsupported
from torchrepro_lint.verify.given import SHAPE

LARGEST = 4096  # of a width, so that no site decides how much memory a probe takes
LARGEST_SIDE = 2**16


def flag(arguments: Mapping[str, object], name: str, default: bool = False) -> bool:
    """A truth value."""
    value = _given(arguments, name, default)
    if not isinstance(value, bool):
        raise _refused(name, value)
    return value


def choice(arguments: Mapping[str, object], name: str, choices: Sequence[str]) -> str:
    """One of several words, by default the first."""
    value = _given(arguments, name, choices[0])
    if value not in choices:
        raise _refused(name, value)
    return str(value)


def fixed(arguments: Mapping[str, object], name: str, value: object) -> None:
    """What the operation itself implies: the site may say it, or leave it out."""
    given = _given(arguments, name, value)
    if given != value:
        raise _refused(name, given)


def shape(arguments: Mapping[str, object], default: Sequence[int], rank: int | None = None) -> tuple[int, ...]:
    """That of the main input, as the user wants it."""
    value = arguments.get(SHAPE)
    if value is None:
        return tuple(default)
    numbers = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not all(type(n) is int and n > 0 for n in numbers) or len(numbers) != (rank or len(default)):
        raise Unsupported(f"no probe for inputs of shape {value!r}: it takes {rank or len(default)} dimensions")
    return numbers


def integer(arguments: Mapping[str, object], name: str, default: int, smallest: int = 1, largest: int = LARGEST) -> int:
    """A size, or a whole number."""
    value = _given(arguments, name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
        raise _refused(name, value)
    return value


def number(arguments: Mapping[str, object], name: str, default: float) -> float:
    """A real number."""
    value = _given(arguments, name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refused(name, value)
    return float(value)


def sizes(
    arguments: Mapping[str, object], name: str, default: int | tuple[int, ...], rank: int, smallest: int = 1
) -> tuple[int, ...]:
    """One whole number per dimension; a single one stands for all."""
    value = _given(arguments, name, default)
    given = value if isinstance(value, (list, tuple)) else [value]
    numbers = [n for n in given if type(n) is int and smallest <= n <= LARGEST_SIDE]
    if len(numbers) != len(given) or len(numbers) not in (1, rank):
        raise _refused(name, value)
    return tuple(numbers * rank if len(numbers) == 1 else numbers)


def _given(arguments: Mapping[str, object], name: str, default: object) -> object:
    value = arguments.get(name)
    return default if value is None else value


def _refused(name: str, value: object) -> Unsupported:
    return Unsupported(f"no probe for {name}={value!r}")
