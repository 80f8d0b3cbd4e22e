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


def words(tensor: torch.Tensor) -> str:
    """A tensor's shape and dtype: `(64, 1000) float32`, and that its channels come last."""
    layout = " channels_last" if _is_channels_last(tensor) else ""
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}{layout}"


def _is_channels_last(tensor: torch.Tensor) -> bool:
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    return layout is not None and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=layout)


def planes(device: torch.device, *shape: int) -> int:
    """How many channels of this shape to take: fewer of larger ones."""
    elements = math.prod(shape)
    if elements > LARGEST_PLANE:
        raise Unsupported(f"a plane of {shape} is too large for a probe")
    return max(1, min(64, on(device, 2**16, 2**22) // elements))
