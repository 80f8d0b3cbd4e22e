"""Probes of convolutions, products and recurrent networks: shapes for which libraries have several algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, applied, on, words
from torchrepro_lint.verify.probes.registry import probe

Tensor = torch.Tensor


@probe("convolution", halves=True, channels_last=True)
def convolution(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Few channels on large images, whose weight gradients cuDNN may add with atomics; and the usual shapes."""
    large, usual, long = on(device, 32, 224), on(device, 12, 56), on(device, 256, 16_000)
    volume = on(device, 8, 32)
    batch = on(device, 2, 16)
    cases: tuple[tuple[str, Callable[..., Any], tuple[int, ...], tuple[int, ...], dict[str, int]], ...] = (
        ("conv2d", F.conv2d, (batch, 3, large, large), (16, 3, 7, 7), {"stride": 2}),
        ("conv2d", F.conv2d, (batch, 32, usual, usual), (32, 32, 3, 3), {"padding": 1}),
        ("depthwise conv2d", F.conv2d, (batch, 32, usual, usual), (32, 1, 3, 3), {"padding": 1, "groups": 32}),
        ("conv_transpose2d", F.conv_transpose2d, (batch, 16, usual, usual), (16, 16, 4, 4), {"stride": 2}),
        ("conv1d", F.conv1d, (batch, 1, long), (16, 1, 9), {}),
        ("conv3d", F.conv3d, (2, 4, volume, volume, volume), (8, 4, 3, 3, 3), {}),
    )
    for name, convolve, x_shape, weight_shape, options in cases:
        draws = Draws(device, arguments)
        x, weight = draws.normal(*x_shape, grad=True), draws.normal(*weight_shape, grad=True)
        yield Experiment(
            f"{name} of {words(x)} with {weight_shape}; backward",
            (x, weight),
            lambda x, weight, convolve=convolve, options=options: convolve(x, weight, **options),
            backward=True,
        )


@probe("cublas", halves=True)
def cublas(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """A square product, a long inner dimension, a batch."""
    side, inner = on(device, 128, 2048), on(device, 4_096, 262_144)
    shapes = (((side, side), (side, side)), ((16, inner), (inner, 16)), ((8, 64, side), (8, side, 64)))
    for left, right in shapes:
        draws = Draws(device, arguments)
        a, b = draws.normal(*left, grad=True), draws.normal(*right, grad=True)
        yield Experiment(f"{words(a)} by {words(b)}; backward", (a, b), torch.matmul, backward=True)


@probe("reduced-precision")
def reduced_precision(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    side = on(device, 128, 2048)
    for dtype in (torch.float32, torch.bfloat16):
        draws = Draws(device, arguments)
        a, b = draws.normal(side, side, dtype=dtype), draws.normal(side, side, dtype=dtype)
        yield Experiment(
            f"{words(a)} by {words(b)}, float32 matmul precision medium",
            (a, b),
            _rounded_product,
            prelude=('torch.set_float32_matmul_precision("medium")',),
        )


def _rounded_product(a: Tensor, b: Tensor) -> Tensor:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        return torch.mm(a, b)
    finally:
        torch.set_float32_matmul_precision(before)


@probe("rnn-cudnn", halves=True)
def rnn_cudnn(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    usual = on(device, 16, 64)
    width, hidden = known.integer(arguments, "input_size", usual), known.integer(arguments, "hidden_size", usual)
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        draws = Draws(device, arguments)
        x = draws.normal(on(device, 8, 128), 8, width, grad=True)
        inputs, recurrent = applied(kind(width, hidden, num_layers=2, device="meta"), draws, x)
        yield Experiment(
            f"{kind.__name__} of {words(x)}, two layers of {hidden}; backward",
            inputs,
            lambda *tensors, recurrent=recurrent: recurrent(*tensors)[0],
            backward=True,
        )


@probe("bmm-sparse")
def bmm_sparse(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Three hundred values in each row of a sparse matrix."""
    batch, side, width = 2, on(device, 100, 2_000), on(device, 16, 128)
    draws = Draws(device, arguments)
    entries = batch * side * on(device, 30, 300)
    places = torch.stack([draws.index(entries, below=n) for n in (batch, side, side)])
    values, dense = draws.normal(entries), draws.normal(batch, side, width)
    yield Experiment(
        f"{entries} values of a sparse ({batch}, {side}, {side}) by {words(dense)}",
        (places, values, dense),
        lambda places, values, dense: torch.bmm(torch.sparse_coo_tensor(places, values, (batch, side, side)), dense),
    )


@probe("mm-sparse")
def mm_sparse(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """The neighbours of a graph's nodes by their features, as a layer of a graph network adds them up: few in most
    rows, many in some."""
    side = on(device, 200, 2_708)
    for entries, width in ((5 * side, on(device, 32, 1_433)), (on(device, 30, 300) * side, on(device, 16, 128))):
        draws = Draws(device, arguments)
        rows = draws.index(entries, below=side) * draws.index(entries, below=side) // side
        places = torch.stack([rows, draws.index(entries, below=side)])
        values, dense = draws.normal(entries), draws.normal(side, width, grad=True)
        yield Experiment(
            f"{entries} values of a sparse ({side}, {side}) by {words(dense)}; backward",
            (places, values, dense),
            lambda places, values, dense: torch.sparse.mm(torch.sparse_coo_tensor(places, values, (side, side)), dense),
            backward=True,
        )
