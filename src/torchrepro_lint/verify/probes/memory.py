"""Probes of memory that is read before it is written, or written twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.registry import probe


@probe("empty")
def empty(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """A block that other work has just given back; what that work was is no input of the call.

    Its values differ from repeat to repeat, as they do in a program whose memory is used by one thing after another.
    """
    other_work = itertools.count()
    size = 1_000

    def operation(like: torch.Tensor) -> torch.Tensor:
        used = torch.full((size,), float(next(other_work)), device=device)
        del used
        return torch.empty_like(like)

    yield Experiment(
        f"empty_like of ({size},) float32 after other work",
        (torch.zeros(size, device=device),),
        operation,
        prelude=None,
    )


@probe("resize-quantized")
def resize_quantized(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    if device.type != "cpu":
        raise Unsupported("quantized tensors are resized on the CPU only")

    def operation(x: torch.Tensor) -> torch.Tensor:
        quantized = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return quantized.resize_((2 * len(x),)).int_repr()

    x = Draws(device, arguments).normal(1_000)
    yield Experiment(f"x {words(x)}, quantized and doubled in length", (x,), operation)


@probe("overlapping-writes")
def overlapping_writes(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Windows that share all but one element, each written from a row of its own."""
    rows, width = on(device, 20_000, 100_000), 32
    draws = Draws(device, arguments)
    memory, source = draws.normal(rows + width), draws.normal(rows, width)
    yield Experiment(
        f"{words(source)} into overlapping windows of {words(memory)}",
        (memory, source),
        lambda memory, source: memory.as_strided((rows, width), (1, 1)).copy_(source),
    )
