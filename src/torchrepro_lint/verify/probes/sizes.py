"""Sizes and dtypes of a probe's inputs: large enough for several blocks on a GPU, small enough for a CPU.

Atomics of one block seldom change places, so that contention on a GPU needs many of them; on a CPU every repeat
should take a few milliseconds. Knows no operation.
"""

from __future__ import annotations

import math

import torch

from torchrepro_lint.verify.experiment import Unsupported

LARGEST_PLANE = 2**24


def on(device: torch.device, cpu: int, gpu: int) -> int:
    """The size for this device."""
    return cpu if device.type == "cpu" else gpu


def floats(device: torch.device) -> tuple[torch.dtype, ...]:
    """The dtypes of kernels that exist in half precision too: on CUDA those have atomics of their own."""
    return (torch.float32, torch.float16) if device.type == "cuda" else (torch.float32,)


def words(tensor: torch.Tensor) -> str:
    """A tensor's shape and dtype: `(64, 1000) float32`."""
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def planes(device: torch.device, *shape: int) -> int:
    """How many channels of this shape to take: fewer of larger ones."""
    elements = math.prod(shape)
    if elements > LARGEST_PLANE:
        raise Unsupported(f"a plane of {shape} is too large for a probe")
    return max(1, min(64, on(device, 2**16, 2**22) // elements))
