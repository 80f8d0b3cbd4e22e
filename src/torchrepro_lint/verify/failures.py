"""What an error tells: that an operation has no deterministic kernel, or only that it cannot be run here.

PyTorch has types for some of them since some release, on some device; their words are older. Knows no operation.
"""

from __future__ import annotations

import re

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

REFUSALS = (RuntimeError, ValueError, TypeError, IndexError, AttributeError, AssertionError, MemoryError)
"""What is raised where an operation does not take its inputs, or is not there: `NotImplementedError` is one of them."""

_FLAG = "use_deterministic_algorithms"  # every alert names it, that of cuBLAS too, and no other error does
_NO_KERNEL = re.compile(
    r"not (implemented|supported) for|expected scalar type|unsupported (data ?type|dtype)|Low precision", re.I
)
_LONGEST = 200  # characters


def of_determinism(error: BaseException) -> bool:
    """Whether it is the alert of the deterministic flag, and not the lack of a kernel or a wrong dtype."""
    return isinstance(error, RuntimeError) and _FLAG in str(error)


def in_short(error: BaseException) -> str:
    """The first line of what was raised, or its type where there are no words."""
    first = str(error).strip().partition("\n")[0].partition(", but you set")[0]
    return first[:_LONGEST] or type(error).__name__


def of_kernel(error: BaseException) -> bool:
    """Whether there is no kernel for these dtypes on this device."""
    return _NO_KERNEL.search(str(error)) is not None


def of_memory(error: BaseException) -> bool:
    """Whether there was too little of it, on a CPU or a GPU."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


def of_device(error: BaseException) -> bool:
    """Whether the GPU failed, after which a process can get nothing more from it: an assertion, an illegal access."""
    return isinstance(error, RuntimeError) and str(error).startswith(_LOST)
