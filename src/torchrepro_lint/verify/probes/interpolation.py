"""Probes of resampling: an input element feeds several output elements, and its gradient is their sum.

Sums of two numbers are the same in any order: it takes three outputs per input for the order to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, planes, words
from torchrepro_lint.verify.probes.registry import Recipe, probe

Tensor = torch.Tensor


def _resized(mode: str, rank: int, antialias: bool = False) -> Recipe:
    def interpolate(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        known.fixed(arguments, "mode", mode)
        known.fixed(arguments, "antialias", antialias)
        options: dict[str, Any] = {
            "mode": mode,
            "align_corners": known.flag(arguments, "align_corners") if mode != "area" else None,
        }
        if antialias:
            options["antialias"] = True
        side = {1: on(device, 1000, 4000), 2: on(device, 32, 128), 3: on(device, 12, 32)}[rank]
        sides, target = _sizes(arguments, side, rank)
        if known.flag(arguments, "recompute_scale_factor"):
            options["recompute_scale_factor"] = True
        channels = planes(device, *(max(a, b) for a, b in zip(sides, _reached(sides, target), strict=True)))
        shape = known.shape(arguments, (2, channels, *sides))
        x = Draws(device, arguments).normal(*shape, grad=True)
        told = ", ".join(f"{name}={value}" for name, value in {**target, **options}.items())
        yield Experiment(
            f"x {words(x)}, {told}; backward", (x,), lambda x: F.interpolate(x, **target, **options), backward=True
        )

    return interpolate


def _sizes(arguments: Given, side: int, rank: int) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The sides of the input, and the site's size or scale, else a scale of two.

    Of an input half as large as a given size, each element feeds several of the output; of a larger one it may feed
    one alone, whose gradient is no sum.
    """
    if arguments.get("size") is not None:
        size = known.sizes(arguments, "size", side, rank)
        return tuple(max(1, n // 2) for n in size), {"size": size}
    scale = arguments.get("scale_factor")
    if isinstance(scale, (list, tuple)):
        factors = tuple(known.number({"scale_factor": n}, "scale_factor", 2.0) for n in scale)
        if len(factors) != rank:
            raise Unsupported(f"no probe for scale_factor={list(scale)!r}")
        return (side,) * rank, {"scale_factor": factors}
    return (side,) * rank, {"scale_factor": known.number(arguments, "scale_factor", 2.0)}


def _reached(sides: tuple[int, ...], target: Mapping[str, Any]) -> tuple[int, ...]:
    if "size" in target:
        return tuple(target["size"])
    scale = target["scale_factor"]
    factors = scale if isinstance(scale, tuple) else (scale,) * len(sides)
    return tuple(max(1, int(side * factor)) for side, factor in zip(sides, factors, strict=True))


probe("interpolate-linear", halves=True)(_resized("linear", 1))
probe("interpolate-bilinear", halves=True, channels_last=True)(_resized("bilinear", 2))
probe("interpolate-bicubic", halves=True)(_resized("bicubic", 2))
probe("interpolate-trilinear", halves=True)(_resized("trilinear", 3))
probe("interpolate-area", halves=True)(_resized("area", 2))
probe("interpolate-bilinear-antialias", halves=True)(_resized("bilinear", 2, antialias=True))
probe("interpolate-bicubic-antialias", halves=True)(_resized("bicubic", 2, antialias=True))


@probe("grid-sample-2d", halves=True)
def grid_sample_2d(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _sampled(device, arguments, 2, known.choice(arguments, "mode", ("bilinear", "nearest", "bicubic")))


@probe("grid-sample-3d", halves=True)
def grid_sample_3d(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _sampled(device, arguments, 3, known.choice(arguments, "mode", ("bilinear", "nearest")))


@probe("grid-sample-cudnn")
def grid_sample_cudnn(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """With align_corners=True, bilinear and zeros, which cuDNN takes where there is one."""
    for name, value in (("mode", "bilinear"), ("padding_mode", "zeros"), ("align_corners", True)):
        known.fixed(arguments, name, value)
    return _sampled(device, arguments, 2, "bilinear", corners=True)


def _sampled(
    device: torch.device, arguments: Given, rank: int, mode: str, *, corners: bool = False
) -> Iterator[Experiment]:
    """Four times as many samples as there are pixels, anywhere."""
    padding = known.choice(arguments, "padding_mode", ("zeros", "border", "reflection"))
    corners = known.flag(arguments, "align_corners", corners)
    side = on(device, 24, 128) if rank == 2 else on(device, 8, 24)
    draws, shape = Draws(device, arguments), known.shape(arguments, (2, 4, *[side] * rank))
    x = draws.normal(*shape, grad=True)
    grid = draws.uniform(shape[0], *(2 * n for n in shape[2:]), rank, low=-1.0, grad=True).contiguous()
    grid = grid.detach().requires_grad_()
    yield Experiment(
        f"x {words(x)}, grid {words(grid)}, mode={mode}, padding_mode={padding}, align_corners={corners}; backward",
        (x, grid),
        lambda x, grid: F.grid_sample(x, grid, mode, padding, corners),
        backward=True,
    )
