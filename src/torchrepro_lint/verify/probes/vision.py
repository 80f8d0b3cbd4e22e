"""Probes of torchvision's kernels: boxes and samples that overlap."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import Recipe, probe

Tensor = torch.Tensor

CHANNELS = 4


def _boxes(draws: Draws, count: int, side: float) -> Tensor:
    """Rows of (x1, y1, x2, y2), half as wide as the image and more."""
    corner = draws.uniform(count, 2, high=side / 2)
    return torch.cat((corner, corner + draws.uniform(count, 2, low=side / 4, high=side / 2)), 1)


def _regions(name: str, *, sampled: bool, by_position: bool) -> Recipe:
    """`sampled` operations take a number of samples per bin; those `by_position` a channel for each bin."""

    def regions(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        operation = getattr(imported("torchvision.ops"), name)
        output = known.sizes(arguments, "output_size", 7, 2)
        options = {"sampling_ratio": max(1, known.integer(arguments, "sampling_ratio", 2, smallest=-1))}
        draws, side, count = Draws(device, arguments), on(device, 24, 64), on(device, 16, 256)
        channels = CHANNELS * (output[0] * output[1] if by_position else 1)
        x = draws.normal(1, channels, side, side, grad=True)
        boxes = torch.cat((torch.zeros(count, 1, device=device), _boxes(draws, count, side)), 1)
        yield Experiment(
            f"{name} of {words(x)}, {count} boxes to {output}; backward",
            (x, boxes),
            lambda x, boxes: operation(x, boxes, output, **(options if sampled else {})),
            backward=True,
        )

    return regions


probe("roi-align")(_regions("roi_align", sampled=True, by_position=False))
probe("roi-pool")(_regions("roi_pool", sampled=False, by_position=False))
probe("ps-roi-align")(_regions("ps_roi_align", sampled=True, by_position=True))
probe("ps-roi-pool")(_regions("ps_roi_pool", sampled=False, by_position=True))


@probe("deform-conv2d")
def deform_conv2d(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    operation = imported("torchvision.ops").deform_conv2d
    height, width = known.sizes(arguments, "kernel_size", 3, 2)
    draws, side = Draws(device, arguments), on(device, 12, 48)
    x = draws.normal(2, 8, side, side, grad=True)
    weight = draws.normal(8, 8, height, width, grad=True)
    offset = draws.normal(2, 2 * height * width, side - height + 1, side - width + 1, grad=True)
    yield Experiment(
        f"x {words(x)}, weight {words(weight)}, random offsets; backward", (x, offset, weight), operation, backward=True
    )


@probe("nms")
def nms(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Five distinct scores, so that most boxes tie."""
    operation = imported("torchvision.ops").nms
    draws, count = Draws(device, arguments), on(device, 500, 5_000)
    boxes, scores = _boxes(draws, count, 100.0), draws.index(count, below=5) / 5
    yield Experiment(
        f"{count} boxes, 5 distinct scores", (boxes, scores), lambda boxes, scores: operation(boxes, scores, 0.9)
    )
