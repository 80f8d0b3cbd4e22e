"""Where operations can run: which kinds of device this machine has, and the module of PyTorch that serves one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torchrepro_lint.verify.tasks import KINDS


def module_of(device: torch.device) -> Any:
    """`torch.cuda` or `torch.cpu`: streams, events and generators of a device."""
    return getattr(torch, device.type)


def settle(devices: Sequence[str], gpu: str | None) -> tuple[list[str], dict[str, str]]:
    """The kinds of `devices` that can be used, and why another cannot; `cuda:1` is made the current GPU.

    A GPU that is not asked for is left alone, because a broken one may raise, or never answer. `gpu` is the one that
    the driver tells of.
    """
    wanted = {name.partition(":")[0]: name for name in devices}
    reason = why_no_cuda(gpu, wanted["cuda"]) if "cuda" in wanted else None
    absent = {"cuda": reason} if reason is not None else {}
    return [kind for kind in KINDS if kind in wanted and kind not in absent], absent


def why_no_cuda(gpu: str | None, device: str = "cuda") -> str | None:
    """Why PyTorch cannot use this CUDA device; None where it can, and then it is the current one."""
    if torch.version.cuda is None and torch.version.hip is None:
        return f"this PyTorch is built without CUDA, for the {gpu} that is here" if gpu else "no CUDA device here"
    index, number = torch.device(device).index or 0, torch.cuda.device_count()
    if index and index >= number:
        return f"no CUDA device {index} here: there {'is' if number == 1 else 'are'} {number}"
    try:
        torch.cuda.set_device(index)
        torch.zeros(1, device="cuda").add_(1).cpu()
    except (RuntimeError, AssertionError) as error:
        if gpu is None and number == 0:
            return "no CUDA device here"
        return f"PyTorch cannot use the {gpu or 'GPU'} that is here: {str(error).partition('. ')[0]}"
    return None


def capability(device: torch.device) -> tuple[int, int]:
    """That of the GPU, or of a recent one where none is here and only a plan is made."""
    return torch.cuda.get_device_capability(device) if torch.cuda.is_available() else (9, 0)
