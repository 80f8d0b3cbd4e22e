"""How large a probe's inputs are: large enough for several blocks on a GPU, small enough for a CPU.

On a GPU atomics from one block seldom change places, so that contention needs many blocks; on a CPU every repeat
should take a few milliseconds. Knows no operation.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch


def on(device: torch.device, cpu: int, gpu: int) -> int:
    """The size for this device."""
    return cpu if device.type == "cpu" else gpu


def floats(device: torch.device) -> Iterator[torch.dtype]:
    """The dtypes whose kernels differ: on GPUs half precision has atomics of its own."""
    yield torch.float32
    if device.type != "cpu":
        yield torch.float16


def words(tensor: torch.Tensor) -> str:
    """A tensor's shape and dtype: `(64, 1000) float32`."""
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
