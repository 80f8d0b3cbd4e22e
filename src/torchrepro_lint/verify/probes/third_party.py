"""Probes of other packages' own kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import probe


def _require_cuda(device: torch.device) -> None:
    if device.type != "cuda":
        raise Unsupported("the kernel runs on CUDA only")


@probe("flash-attn")
def flash_attn(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    attention = imported("flash_attn").flash_attn_func
    options = {name: known.flag(arguments, name) for name in ("causal", "deterministic") if name in arguments}
    return _attention(device, arguments, "flash_attn_func", lambda q, k, v: attention(q, k, v, **options))


@probe("xformers")
def xformers(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    attention = imported("xformers.ops").memory_efficient_attention
    return _attention(device, arguments, "memory_efficient_attention", attention)


def _attention(
    device: torch.device, arguments: Given, name: str, operation: Callable[..., Any]
) -> Iterator[Experiment]:
    """Keys of many blocks, whose shares of a query's gradient are added up."""
    _require_cuda(device)
    draws = Draws(device, arguments)
    query, key, value = (draws.normal(2, 2048, 4, 64, dtype=torch.float16, grad=True) for _ in range(3))
    yield Experiment(
        f"{name} of query, key, value {words(query)}; backward", (query, key, value), operation, backward=True
    )


@probe("mamba-selective-scan")
def mamba_selective_scan(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    scan = imported("mamba_ssm.ops.selective_scan_interface").selective_scan_fn
    _require_cuda(device)
    draws, channels, states, length = Draws(device, arguments), 64, 16, 2048
    u, delta = draws.normal(4, channels, length, grad=True), draws.uniform(4, channels, length, high=0.1, grad=True)
    decay = draws.uniform(channels, states, low=-1.0, high=-0.1, grad=True)
    b, c = draws.normal(4, states, length, grad=True), draws.normal(4, states, length, grad=True)
    yield Experiment(f"u {words(u)} with {states} states; backward", (u, delta, decay, b, c), scan, backward=True)


@probe("mmcv-deform-conv")
def mmcv_deform_conv(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    operation = imported("mmcv.ops").deform_conv2d
    _require_cuda(device)
    draws = Draws(device, arguments)
    x, weight = draws.normal(2, 16, 48, 48, grad=True), draws.normal(16, 16, 3, 3, grad=True)
    offset = draws.normal(2, 18, 46, 46, grad=True)
    yield Experiment(
        f"x {words(x)}, weight {words(weight)}, random offsets; backward", (x, offset, weight), operation, backward=True
    )


@probe("mmcv-roi")
def mmcv_roi(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    operation = imported("mmcv.ops").roi_align
    _require_cuda(device)
    output = known.sizes(arguments, "output_size", 7, 2)
    draws, count, side = Draws(device, arguments), 256, 64
    x, corner = draws.normal(1, 8, side, side, grad=True), draws.uniform(count, 2, high=side / 2)
    ends = corner + draws.uniform(count, 2, low=side / 4, high=side / 2)
    boxes = torch.cat((torch.zeros(count, 1, device=device), corner, ends), 1)
    yield Experiment(
        f"roi_align of {words(x)}, {count} boxes to {output}; backward",
        (x, boxes),
        lambda x, boxes: operation(x, boxes, output),
        backward=True,
    )


@probe("mmcv-deform-attention")
def mmcv_deform_attention(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """One level of pixels, sampled anywhere by many queries."""
    function = imported("mmcv.ops.multi_scale_deform_attn").MultiScaleDeformableAttnFunction
    _require_cuda(device)
    draws, side, queries, heads, points = Draws(device, arguments), 32, 2_000, 4, 4
    value = draws.normal(2, side * side, heads, 16, grad=True)
    shapes, starts = torch.tensor([[side, side]], device=device), torch.tensor([0], device=device)
    locations = draws.uniform(2, queries, heads, 1, points, 2, grad=True)
    weights = draws.uniform(2, queries, heads, 1, points, grad=True)
    yield Experiment(
        f"value {words(value)}, {queries} queries; backward",
        (value, shapes, starts, locations, weights),
        lambda *tensors: function.apply(*tensors, 64),
        backward=True,
    )


@probe("mmcv-points")
def mmcv_points(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    operation = imported("mmcv.ops").gather_points
    _require_cuda(device)
    draws = Draws(device, arguments)
    features, index = draws.normal(2, 16, 500, grad=True), draws.index(2, 100_000, below=500).int()
    yield Experiment(
        f"features {words(features)}, 100000 points taken; backward", (features, index), operation, backward=True
    )


@probe("fbgemm")
def fbgemm(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    imported("fbgemm_gpu")
    draws, readings = Draws(device, arguments), on(device, 4_000, 200_000)
    x, index = draws.normal(100, 16, grad=True), draws.index(readings, below=100)
    yield Experiment(
        f"group_index_select of {readings} rows of {words(x)}; backward",
        (x, index),
        lambda x, index: torch.ops.fbgemm.group_index_select_dim0([x], [index])[0],
        backward=True,
    )
