"""Probes of look-up tables: few distinct rows, each read many times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.registry import probe

Tensor = torch.Tensor


def _table(device: torch.device, arguments: Given, rows: int, width: int, readings: int) -> tuple[Tensor, Tensor]:
    """Index and weight; a table of the site's own size, as far as that is small."""
    rows = min(rows, known.integer(arguments, "num_embeddings", rows, largest=sys.maxsize))
    width = known.integer(arguments, "embedding_dim", width)
    draws = Draws(device, arguments)
    return draws.index(readings, below=rows), draws.normal(rows, width, grad=True)


@probe("embedding", halves=True)
def embedding(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Few rows with very many readings, which CUDA adds with atomics from 2.11 on; many rows, which it sorts
    in every release; and so few readings that a block takes each.

    The kernel with atomics is chosen where there are far more tenths of the readings than there are blocks of rows.
    """
    options: dict[str, Any] = {"scale_grad_by_freq": known.flag(arguments, "scale_grad_by_freq")}
    padding = arguments.get("padding_idx")
    many = on(device, 8_000, 100_000)
    cases = ((8, many, "few rows"), (4_000, many, "many rows"), (100, 2_000, "few readings"))
    for rows, readings, which in cases:
        index, weight = _table(device, arguments, rows, on(device, 32, 64), readings)
        if padding is not None:
            options["padding_idx"] = min(known.integer(arguments, "padding_idx", 0, smallest=0), len(weight) - 1)
        told = ", ".join(f"{name}={value}" for name, value in options.items())
        yield Experiment(
            f"weight {words(weight)}, {readings} rows read, {told}, {which}; backward",
            (index, weight),
            lambda index, weight, options=dict(options): F.embedding(index, weight, **options),
            backward=True,
        )


@probe("embedding-renorm")
def embedding_renorm(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    limit, power = known.number(arguments, "max_norm", 1.0), known.number(arguments, "norm_type", 2.0)
    index, weight = _table(device, arguments, 100, 64, on(device, 5_000, 100_000))
    yield Experiment(
        f"weight {words(weight)} with max_norm={limit}, {index.numel()} rows read",
        (index, weight.detach()),
        lambda index, weight: F.embedding(index, weight, max_norm=limit, norm_type=power),
    )


@probe("embedding-bag-max", halves=True)
def embedding_bag_max(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _bags(device, arguments, known.choice(arguments, "mode", ("max", "sum", "mean")))


@probe("embedding-bag-mps")
def embedding_bag_mps(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _bags(device, arguments, known.choice(arguments, "mode", ("mean", "sum", "max")))


def _bags(device: torch.device, arguments: Given, mode: str) -> Iterator[Experiment]:
    """Bags of ten rows out of fifty, so that many bags choose the same one."""
    bags = on(device, 400, 20_000)
    index, weight = _table(device, arguments, 50, on(device, 16, 64), bags * 10)
    yield Experiment(
        f"weight {words(weight)}, {bags} bags of 10 rows, mode={mode}; backward",
        (index.view(bags, 10), weight),
        lambda index, weight: F.embedding_bag(index, weight, mode=mode),
        backward=True,
    )
