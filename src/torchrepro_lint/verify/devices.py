"""Where operations can run: which kinds of device this machine has, and the module of PyTorch that serves one."""

from __future__ import annotations

from typing import Any

import torch

from torchrepro_lint.verify.tasks import KINDS


def module_of(device: torch.device) -> Any:
    """`torch.cuda` or `torch.cpu`: streams, events and generators of a device."""
    return getattr(torch, device.type)


def present() -> list[str]:
    """The kinds of device that this machine has."""
    return [kind for kind in KINDS if kind == "cpu" or torch.cuda.is_available()]


def why_no_cuda(gpu: str | None) -> str:
    """Why PyTorch finds no CUDA device, though the driver may have told of a GPU."""
    if gpu is None:
        return "no CUDA device here"
    if torch.version.cuda is None:
        return f"this PyTorch is built without CUDA, for the {gpu} that is here"
    try:
        torch.cuda.current_device()
    except (RuntimeError, AssertionError) as error:
        return f"PyTorch cannot use the {gpu} that is here: {str(error).partition('. ')[0]}"
    return "no CUDA device here"
