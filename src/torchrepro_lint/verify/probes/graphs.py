"""Probes of packages for graphs: every node collects many messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, applied, on, words
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import probe

NODES, WIDTH = 100, 16
SUMS = ("sum", "add", "mean")


def _edges(device: torch.device) -> int:
    return on(device, 4_000, 200_000)


def _messages(
    device: torch.device,
    arguments: Given,
    name: str,
    operation: Callable[..., Any],
    *,
    backward: bool = False,
    factors: bool = False,
    ordered: bool = False,
) -> Experiment:
    """`operation(messages, node)`; `factors` are values whose products neither vanish nor overflow."""
    draws, edges = Draws(device, arguments), _edges(device)
    messages = (1 if factors else 0) + (0.01 if factors else 1) * draws.normal(edges, WIDTH)
    node = draws.index(edges, below=NODES)
    return Experiment(
        f"{name} of {words(messages)} to {NODES} nodes" + ("; backward" if backward else ""),
        (messages.requires_grad_(backward), node.sort().values if ordered else node),
        operation,
        backward,
    )


@probe("torch-scatter")
def torch_scatter(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    reduce = known.choice(arguments, "reduce", SUMS)
    operation = partial(imported("torch_scatter").scatter, dim=0, dim_size=NODES, reduce=reduce)
    yield _messages(device, arguments, f"scatter, reduce={reduce}", operation)


@probe("torch-scatter-mul")
def torch_scatter_mul(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    operation = partial(imported("torch_scatter").scatter, dim=0, dim_size=NODES, reduce="mul")
    for backward in (False, True):
        yield _messages(device, arguments, "scatter, reduce=mul", operation, backward=backward, factors=True)


@probe("torch-segment-coo")
def torch_segment_coo(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    reduce = known.choice(arguments, "reduce", SUMS)
    operation = partial(imported("torch_scatter").segment_coo, dim_size=NODES, reduce=reduce)
    yield _messages(device, arguments, f"segment_coo, reduce={reduce}", operation, ordered=True)


@probe("torch-geometric")
def torch_geometric(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    reduce = known.choice(arguments, "reduce", SUMS)
    utils = imported("torch_geometric.utils")
    operation = partial(utils.scatter, dim=0, dim_size=NODES, reduce=reduce)
    yield _messages(device, arguments, f"scatter, reduce={reduce}", operation)
    yield _messages(device, arguments, "softmax", partial(utils.softmax, num_nodes=NODES))


@probe("torch-geometric-layer")
def torch_geometric_layer(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """A convolution over edges in no order."""
    package = imported("torch_geometric.nn")
    with torch.device("meta"):  # so that nothing is drawn for its weights
        layer = package.GCNConv(WIDTH, WIDTH)
    draws, edges = Draws(device, arguments), _edges(device)
    x, edge_index = draws.normal(NODES, WIDTH, grad=True), draws.index(2, edges, below=NODES)
    inputs, operation = applied(layer, draws, x, edge_index)
    yield Experiment(f"GCNConv of {words(x)} over {edges} edges; backward", inputs, operation, backward=True)


@probe("torch-sparse")
def torch_sparse(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    spmm = imported("torch_sparse").spmm
    draws, edges = Draws(device, arguments), _edges(device)
    dense = draws.normal(NODES, WIDTH)
    yield Experiment(
        f"spmm of {edges} values by {words(dense)}",
        (draws.index(2, edges, below=NODES), draws.normal(edges), dense),
        lambda index, value, dense: spmm(index, value, NODES, NODES, dense),
    )


@probe("dgl")
def dgl(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    package = imported("dgl")
    draws, edges = Draws(device, arguments), _edges(device)
    graph = package.graph((draws.index(edges, below=NODES), draws.index(edges, below=NODES)), num_nodes=NODES)
    x = draws.normal(NODES, WIDTH, grad=True)
    yield Experiment(
        f"sum of neighbours {words(x)} over {edges} edges; backward",
        (x,),
        lambda x: package.ops.copy_u_sum(graph, x),
        backward=True,
    )
