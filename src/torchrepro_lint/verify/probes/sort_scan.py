"""Probes of running sums of long vectors, and of order statistics of values that tie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.draws import Draws
from torchrepro_lint.verify.probes.registry import Probe, probe
from torchrepro_lint.verify.probes.sizes import on, words

Arguments = Mapping[str, object]
Tensor = torch.Tensor


def _scan(operation: Callable[[Tensor, int], Tensor], centre: float = 0.0, spread: float = 1.0) -> Probe:
    """A vector of many blocks, forward and backward: only there does a block wait for those before it."""

    def scan(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
        for backward in (False, True):
            x = centre + spread * Draws(device).normal(on(device, 20_000, 4_000_000))
            yield Experiment(
                f"x {words(x)}" + ("; backward" if backward else ""),
                (x.requires_grad_(backward),),
                lambda x: operation(x, 0),
                backward,
            )

    return scan


probe("cumsum")(_scan(torch.cumsum))
probe("cumprod")(_scan(torch.cumprod, centre=1.0, spread=0.0005))  # products that neither vanish nor overflow
probe("logcumsumexp")(_scan(torch.logcumsumexp))


def _ties(device: torch.device) -> Tensor:
    """Rows of whole numbers from 0 to 9."""
    return Draws(device).index(8, on(device, 4_000, 400_000), below=10).float()


@probe("median")
def median(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _chosen(device, {"median": lambda x: torch.median(x, 1), "nanmedian": lambda x: torch.nanmedian(x, 1)})


@probe("mode")
def mode(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _chosen(device, {"mode": lambda x: torch.mode(x, 1)})


@probe("kthvalue")
def kthvalue(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    k = known.integer(arguments, "k", 100)
    return _chosen(device, {f"kthvalue, k={k}": lambda x: torch.kthvalue(x, min(k, x.shape[1]), 1)})


@probe("sort-ties")
def sort_ties(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    k = known.integer(arguments, "k", 50)
    return _chosen(device, {f"topk, k={k}": lambda x: torch.topk(x, min(k, x.shape[1])), "sort": torch.sort})


def _chosen(
    device: torch.device, operations: Mapping[str, Callable[[Tensor], tuple[Tensor, ...]]]
) -> Iterator[Experiment]:
    for name, operation in operations.items():
        x = _ties(device)
        yield Experiment(f"{name} of {words(x)}, 10 distinct values", (x,), operation)


@probe("scan-with-index")
def scan_with_index(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """Long runs of one maximum, and more quantiles than there are elements."""
    draws = Draws(device)
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
