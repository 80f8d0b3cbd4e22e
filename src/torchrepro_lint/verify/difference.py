"""How far two results that are not the same lie apart. Knows pairs of tensors, nothing of how they came about."""

from __future__ import annotations

import torch

from torchrepro_lint.verify.bits import flat, integers, parts
from torchrepro_lint.verify.results import Difference

_PIECE = 1 << 18  # elements that are looked at together: what is worked out of them stays in a processor's caches


def difference(part: str, one: torch.Tensor, other: torch.Tensor) -> Difference:
    """Measures over the elements that differ; `part` says what the two tensors are."""
    pairs = [(_elements(a), _elements(b)) for a, b in zip(parts(one), parts(other), strict=False)]
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in pairs):
        return Difference(part, fraction=1.0)
    total = sum(a.numel() for a, _ in pairs)
    starts = [(a, b, start) for a, b in pairs for start in range(0, a.numel(), _PIECE)]
    pieces = [(a[start : start + _PIECE], b[start : start + _PIECE]) for a, b, start in starts]
    differing = [(a[unequal], b[unequal]) for a, b in pieces if (unequal := integers(a) != integers(b)).any()]
    return Difference(
        part,
        fraction=sum(a.numel() for a, _ in differing) / total if total else 1.0,
        max_ulp=_largest([distance(a, b) for a, b in differing if a.is_floating_point()]),
        max_relative=_largest([_relative(a, b) for a, b in differing]),
    )


def distance(one: torch.Tensor, other: torch.Tensor) -> float | None:
    """The largest number of representable numbers between two floats; None where all pairs hold a NaN."""
    numbers = ~(one.isnan() | other.isnan())
    if not numbers.any():
        return None
    a, b = _ordered(one[numbers]), _ordered(other[numbers])
    steps = a - b
    wrapped = ((a ^ b) < 0) & ((steps ^ a) < 0)  # more than 2**63 apart: only doubles of either sign are
    return float(torch.where(wrapped, (a.double() - b.double()).abs(), steps.double().abs()).max())


def _ordered(floats: torch.Tensor) -> torch.Tensor:
    """Integers in the order of the floats, neighbours one apart, both zeros at 0."""
    bits = integers(floats)
    lowest = torch.iinfo(bits.dtype).min
    return torch.where(bits >= 0, bits.long(), lowest - bits.long())


def _relative(one: torch.Tensor, other: torch.Tensor) -> float | None:
    a, b = one.double(), other.double()
    finite = a.isfinite() & b.isfinite()
    if not finite.any():
        return None
    a, b = a[finite], b[finite]
    largest = torch.maximum(a.abs(), b.abs())
    return float(torch.where(largest > 0, (a / largest - b / largest).abs(), 0.0).max())  # the difference may overflow


def _elements(tensor: torch.Tensor) -> torch.Tensor:
    """One-dimensional, on the CPU, a complex number as two."""
    elements = flat(tensor.cpu())
    return torch.view_as_real(elements).reshape(-1) if elements.is_complex() else elements


def _largest(values: list[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
