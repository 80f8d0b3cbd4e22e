"""A kernel that adds with atomics, as such kernels are written by hand. Imports triton."""

import torch
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def _add_at(x, index, source, length, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < length
    place = tl.load(index + at, mask=inside, other=0)
    value = tl.load(source + at, mask=inside, other=0.0)
    tl.atomic_add(x + place, value, mask=inside)


def add_at(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Adds each element of `source` to the place of `x` that `index` names for it, in place."""
    _add_at[(triton.cdiv(source.numel(), BLOCK),)](x, index, source, source.numel(), block=BLOCK)
    return x
