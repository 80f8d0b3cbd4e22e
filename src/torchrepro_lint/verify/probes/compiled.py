"""Probes of what torch.compile and hand-written kernels make of an operation."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes.inputs import Draws, words
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import probe

Tensor = torch.Tensor


def _require_triton(device: torch.device) -> None:
    if device.type != "cuda":
        raise Unsupported("compiled kernels are probed on CUDA only")
    imported("triton")


def _added_at(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return x.index_put((index,), source, accumulate=True)


def _pooled(x: Tensor) -> Tensor:
    return F.max_pool2d(x, 5, 1)


@probe("inductor-atomics")
def inductor_atomics(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """A write whose eager kernel sorts before it adds."""
    _require_triton(device)
    draws = Draws(device, arguments)
    x, index, source = draws.normal(1_000), draws.index(2_000_000, below=1_000), draws.normal(2_000_000)
    yield Experiment(
        f"compiled index_put of {words(source)} into 1000 places, accumulate=True",
        (x, index, source),
        torch.compile(_added_at),
        compiles=True,
    )


@probe("max-pool2d-compiled")
def max_pool2d_compiled(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Twenty-five windows over every pixel."""
    _require_triton(device)
    x = Draws(device, arguments).normal(8, 32, 64, 64, grad=True)
    yield Experiment(
        f"compiled max_pool2d of {words(x)}, kernel 5, stride 1; backward",
        (x,),
        torch.compile(_pooled),
        backward=True,
        compiles=True,
    )


@probe("triton-atomics")
def triton_atomics(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    _require_triton(device)
    from torchrepro_lint.verify.probes.triton_kernel import add_at

    draws = Draws(device, arguments)
    x, index, source = draws.normal(1_000), draws.index(2_000_000, below=1_000), draws.normal(2_000_000)
    yield Experiment(f"tl.atomic_add of {words(source)} into 1000 places", (x, index, source), add_at, compiles=True)
