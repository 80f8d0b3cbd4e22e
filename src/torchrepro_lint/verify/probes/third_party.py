"""Probes of other packages' kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.draws import Draws
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import probe
from torchrepro_lint.verify.probes.sizes import on, words

Arguments = Mapping[str, object]
Tensor = torch.Tensor

NODES, WIDTH = 100, 16
REDUCTIONS = ("sum", "add", "mul", "mean", "min", "max")


def _edges(device: torch.device) -> tuple[Draws, int]:
    return Draws(device), on(device, 4_000, 200_000)


def _messages(
    device: torch.device, name: str, operation: Callable[[Tensor, Tensor], Any], *, factors: bool = False
) -> Iterator[Experiment]:
    """`operation(messages, node)` forward and backward: every node collects many messages."""
    for backward in (False, True):
        draws, edges = _edges(device)
        messages = draws.normal(edges, WIDTH)
        if factors:  # so that products neither vanish nor overflow
            messages = 1 + 0.01 * messages
        yield Experiment(
            f"{name} of {words(messages)} to {NODES} nodes" + ("; backward" if backward else ""),
            (messages.requires_grad_(backward), draws.index(edges, below=NODES)),
            operation,
            backward,
        )


@probe("torch-scatter")
def torch_scatter(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _scattered(device, arguments, imported("torch_scatter").scatter)


@probe("torch-geometric")
def torch_geometric(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    utils = imported("torch_geometric.utils")
    yield from _scattered(device, arguments, utils.scatter)
    yield from _messages(device, "softmax", lambda x, index: utils.softmax(x, index, num_nodes=NODES))


def _scattered(device: torch.device, arguments: Arguments, scatter: Callable[..., Any]) -> Iterator[Experiment]:
    """With the site's reduction; a sum and a product where it says nothing."""
    stated = "reduce" in arguments
    for reduce in (known.choice(arguments, "reduce", REDUCTIONS),) if stated else ("sum", "mul"):
        operation = partial(scatter, dim=0, dim_size=NODES, reduce=reduce)
        yield from _messages(device, f"scatter, reduce={reduce}", operation, factors=reduce == "mul")


@probe("torch-sparse")
def torch_sparse(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    spmm = imported("torch_sparse").spmm
    for backward in (False, True):
        draws, edges = _edges(device)
        index, value = draws.index(2, edges, below=NODES), draws.normal(edges)
        dense = draws.normal(NODES, WIDTH)
        yield Experiment(
            f"spmm of {edges} values by {words(dense)}" + ("; backward" if backward else ""),
            (index, value.requires_grad_(backward), dense.requires_grad_(backward)),
            lambda index, value, dense: spmm(index, value, NODES, NODES, dense),
            backward,
        )


@probe("dgl")
def dgl(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    package = imported("dgl")
    for backward in (False, True):
        draws, edges = _edges(device)
        graph = package.graph((draws.index(edges, below=NODES), draws.index(edges, below=NODES)), num_nodes=NODES)
        x = draws.normal(NODES, WIDTH).requires_grad_(backward)
        yield Experiment(
            f"sum of neighbours {words(x)} over {edges} edges" + ("; backward" if backward else ""),
            (x,),
            lambda x, graph=graph: package.ops.copy_u_sum(graph, x),
            backward,
        )


@probe("flash-attn")
def flash_attn(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    attention = imported("flash_attn").flash_attn_func
    options = {name: known.flag(arguments, name) for name in ("causal", "deterministic") if name in arguments}
    yield from _attention(device, "flash_attn_func", lambda q, k, v: attention(q, k, v, **options))


@probe("xformers")
def xformers(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    attention = imported("xformers.ops").memory_efficient_attention
    yield from _attention(device, "memory_efficient_attention", attention)


def _attention(device: torch.device, name: str, operation: Callable[..., Any]) -> Iterator[Experiment]:
    if device.type != "cuda":
        raise Unsupported(f"{name} runs on CUDA only")
    draws = Draws(device)
    query, key, value = (draws.normal(2, 2048, 4, 64, dtype=torch.float16, grad=True) for _ in range(3))
    yield Experiment(
        f"{name} of query, key, value {words(query)}; backward", (query, key, value), operation, backward=True
    )


@probe("fbgemm")
def fbgemm(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    imported("fbgemm_gpu")
    draws, readings = _edges(device)
    x, index = draws.normal(NODES, WIDTH, grad=True), draws.index(readings, below=NODES)
    yield Experiment(
        f"group_index_select of {readings} rows of {words(x)}; backward",
        (x, index),
        lambda x, index: torch.ops.fbgemm.group_index_select_dim0([x], [index])[0],
        backward=True,
    )


@probe("openequivariance")
def openequivariance(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    imported("openequivariance")
    raise Unsupported("its convolutions are made for one tensor product, which shows in no call")
