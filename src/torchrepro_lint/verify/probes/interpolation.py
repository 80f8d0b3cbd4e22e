"""Probes of resampling: an input element feeds several output elements, and its gradient is their sum.

Sums of two numbers are the same in any order: it takes three outputs per input for the order to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.draws import Draws
from torchrepro_lint.verify.probes.registry import Probe, probe
from torchrepro_lint.verify.probes.sizes import floats, on, planes, words

Arguments = Mapping[str, object]
Tensor = torch.Tensor


def _resized(mode: str, rank: int, antialias: bool = False) -> Probe:
    def interpolate(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
        corners = known.flag(arguments, "align_corners") if mode != "area" else None
        side = {1: on(device, 1000, 4000), 2: on(device, 32, 128), 3: on(device, 12, 32)}[rank]
        target = _target(arguments, side, rank)
        for dtype in floats(device):
            x = Draws(device).normal(2, planes(device, *target), *[side] * rank, dtype=dtype, grad=True)
            yield Experiment(
                f"x {words(x)} to {target}, mode={mode}, align_corners={corners}, antialias={antialias}; backward",
                (x,),
                lambda x: F.interpolate(x, target, mode=mode, align_corners=corners, antialias=antialias),
                backward=True,
            )

    return interpolate


def _target(arguments: Arguments, side: int, rank: int) -> tuple[int, ...]:
    """The site's size or scale, else twice the input."""
    if arguments.get("size") is not None:
        return known.sizes(arguments, "size", side, rank)
    scale = arguments.get("scale_factor")
    if isinstance(scale, (list, tuple)) and len(set(scale)) == 1:
        scale = scale[0]
    factor = known.number({"scale_factor": scale}, "scale_factor", 2.0)
    return known.sizes({"size": max(1, int(side * factor))}, "size", side, rank)


probe("interpolate-linear")(_resized("linear", 1))
probe("interpolate-bilinear")(_resized("bilinear", 2))
probe("interpolate-bicubic")(_resized("bicubic", 2))
probe("interpolate-trilinear")(_resized("trilinear", 3))
probe("interpolate-area")(_resized("area", 2))
probe("interpolate-bilinear-antialias")(_resized("bilinear", 2, antialias=True))
probe("interpolate-bicubic-antialias")(_resized("bicubic", 2, antialias=True))


@probe("grid-sample-2d")
def grid_sample_2d(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    modes = ("bilinear", "nearest", "bicubic")
    return _sampled(device, arguments, 2, known.choice(arguments, "mode", modes), floats(device))


@probe("grid-sample-3d")
def grid_sample_3d(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _sampled(device, arguments, 3, known.choice(arguments, "mode", ("bilinear", "nearest")), floats(device))


@probe("grid-sample-cudnn")
def grid_sample_cudnn(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """With align_corners=True, bilinear and zeros, which cuDNN takes where there is one."""
    return _sampled(device, {"align_corners": True, "padding_mode": "zeros"}, 2, "bilinear", (torch.float32,))


def _sampled(
    device: torch.device, arguments: Arguments, rank: int, mode: str, dtypes: tuple[torch.dtype, ...]
) -> Iterator[Experiment]:
    """Four times as many samples as there are pixels, anywhere."""
    padding = known.choice(arguments, "padding_mode", ("zeros", "border", "reflection"))
    corners = known.flag(arguments, "align_corners")
    side = on(device, 24, 128) if rank == 2 else on(device, 8, 24)
    for dtype in dtypes:
        draws = Draws(device)
        x = draws.normal(2, 4, *[side] * rank, dtype=dtype, grad=True)
        grid = draws.uniform(2, *[2 * side] * rank, rank, low=-1.0, dtype=dtype, grad=True)
        yield Experiment(
            f"x {words(x)}, grid {words(grid)}, mode={mode}, padding_mode={padding}, align_corners={corners}; backward",
            (x, grid),
            lambda x, grid: F.grid_sample(x, grid, mode, padding, corners),
            backward=True,
        )
