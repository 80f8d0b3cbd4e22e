"""Probes of running sums of long vectors, and of order statistics of values that tie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.given import SHAPE, Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.registry import Recipe, probe

Tensor = torch.Tensor


def _scan(operation: Callable[[Tensor, int], Tensor], centre: float = 0.0, spread: float = 1.0) -> Recipe:
    """A vector of many blocks, forward and backward: only there does a block wait for those before it."""

    def scan(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        shape = known.shape(arguments, (on(device, 20_000, 4_000_000),), len(_shape_of(arguments)))
        dim = (
            known.integer(arguments, "dim", 0, smallest=-len(shape), largest=len(shape) - 1)
            if SHAPE in arguments
            else 0
        )
        if SHAPE not in arguments:
            arguments.get("dim")  # of a vector, which alone varies, it is the only one
        for backward in (False, True):
            x = centre + spread * Draws(device, arguments).normal(*shape)
            yield Experiment(
                f"x {words(x)}, dim={dim}" + ("; backward" if backward else ""),
                (x.requires_grad_(backward),),
                lambda x: operation(x, dim),
                backward,
            )

    return scan


def _shape_of(arguments: Given) -> tuple[object, ...]:
    value = arguments.get(SHAPE)
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


probe("cumsum", halves=True)(_scan(torch.cumsum))
probe("cumprod")(_scan(torch.cumprod, centre=1.0, spread=0.0005))  # products that neither vanish nor overflow
probe("logcumsumexp")(_scan(torch.logcumsumexp))


def _ties(device: torch.device, arguments: Given, rows: int, length: int, values: int) -> Tensor:
    """Rows of whole numbers below `values`."""
    draws = Draws(device, arguments)
    return draws.index(*known.shape(arguments, (rows, length)), below=values).to(arguments.dtype or torch.float32)


@probe("median")
def median(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Thousands of rows of two values: which of the many elements that are the median is named, the threads decide."""
    keep = known.flag(arguments, "keepdim")
    yield _chosen(device, arguments, "median", lambda x, dim: torch.median(x, dim, keep), _many(device))
    yield _chosen(device, arguments, "nanmedian", lambda x, dim: torch.nanmedian(x, dim, keep), _many(device))


@probe("mode")
def mode(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    keep = known.flag(arguments, "keepdim")
    yield _chosen(device, arguments, "mode", lambda x, dim: torch.mode(x, dim, keep), _few(device))


@probe("kthvalue")
def kthvalue(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    k, keep = known.integer(arguments, "k", 100), known.flag(arguments, "keepdim")
    for sizes in (_few(device), _many(device)):
        yield _chosen(
            device,
            arguments,
            f"kthvalue, k={k}",
            lambda x, dim: torch.kthvalue(x, min(k, x.shape[dim]), dim, keep),
            sizes,
        )


@probe("sort-ties")
def sort_ties(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Both where no site says which it is: `sort` takes no `k`."""
    known.fixed(arguments, "stable", False)
    if "k" in arguments or not arguments.is_written:
        k, largest = known.integer(arguments, "k", 50), known.flag(arguments, "largest", True)
        ordered = known.flag(arguments, "sorted", True)
        yield _chosen(
            device,
            arguments,
            f"topk, k={k}, largest={largest}, sorted={ordered}",
            lambda x, dim: torch.topk(x, min(k, x.shape[dim]), dim, largest, ordered),
            _few(device),
        )
    if "k" not in arguments:
        falling = known.flag(arguments, "descending")
        yield _chosen(
            device, arguments, f"sort, descending={falling}", lambda x, dim: torch.sort(x, dim, falling), _few(device)
        )


def _few(device: torch.device) -> tuple[int, int, int]:
    """Long rows of ten values."""
    return 8, on(device, 4_000, 400_000), 10


def _many(device: torch.device) -> tuple[int, int, int]:
    """Many rows of two values."""
    return on(device, 100, 4_000), on(device, 400, 4_096), 2


def _chosen(
    device: torch.device,
    arguments: Given,
    name: str,
    operation: Callable[[Tensor, int], Any],
    sizes: tuple[int, int, int],
) -> Experiment:
    """Along the last of two dimensions, or along the site's."""
    x = _ties(device, arguments, *sizes)
    dim = known.integer(arguments, "dim", x.dim() - 1, smallest=-8, largest=7)
    if not -x.dim() <= dim < x.dim():  # of more dimensions than the probe has: the last one of both
        dim = x.dim() - 1
    elif dim not in (-1, x.dim() - 1) and SHAPE not in arguments:
        x = x.transpose(dim, -1).contiguous()
    return Experiment(f"{name} of {words(x)}, dim={dim}, {sizes[2]} distinct values", (x,), lambda x: operation(x, dim))


@probe("scan-with-index")
def scan_with_index(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Long runs of one maximum, and more quantiles than there are elements."""
    draws = Draws(device, arguments)
    x = draws.normal(on(device, 16, 256), on(device, 1_000, 8_192), grad=True)
    yield Experiment(f"cummax of {words(x)}; backward", (x,), lambda x: torch.cummax(x, 1)[0], backward=True)
    few = draws.normal(on(device, 16, 64), 32, grad=True)
    quantiles = draws.uniform(on(device, 500, 4_096))
    yield Experiment(
        f"{quantiles.numel()} quantiles of {words(few)}; backward",
        (few, quantiles),
        lambda x, q: torch.quantile(x, q, dim=1),
        backward=True,
    )
