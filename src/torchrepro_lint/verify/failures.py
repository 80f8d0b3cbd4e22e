"""Which errors tell that an operation cannot be run here, not what it does: too little memory, a GPU that failed.

PyTorch has types for some of them since some release, on some device; their words are older. Knows no operation.
"""

from __future__ import annotations

import torch

_NO_MEMORY = (
    "can't allocate memory",  # a CPU, on Linux
    "not enough memory",  # on Windows
    "CUDA error: out of memory",
    "CUDA driver error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "Triton Error [CUDA]: out of memory",
)
_LOST = (
    "CUDA error",
    "CUDA driver error",
    "HIP error",
    "Triton Error [CUDA]",
    "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
)


def of_memory(error: BaseException) -> bool:
    """Whether there was too little of it, on a CPU or a GPU."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


def of_device(error: BaseException) -> bool:
    """Whether the GPU failed, after which a process can get nothing more from it: an assertion, an illegal access."""
    return isinstance(error, RuntimeError) and str(error).startswith(_LOST)
