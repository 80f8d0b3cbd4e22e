"""What two runs have kept of one operation: its inputs, and how far its results lie apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torchrepro_lint.rerun.results import Extent, Given


def kept(one: Path, other: Path) -> tuple[tuple[Given, ...], tuple[Extent, ...]]:
    """Each input and each result of the operation; none where a run did not come to it."""
    if not (one.is_file() and other.is_file()):
        return (), ()
    import torch

    first, second = (torch.load(file, weights_only=True, map_location="cpu") for file in (one, other))
    pairs = zip(first["results"], second["results"], strict=False)
    inputs = (Given(dtype.removeprefix("torch."), shape) for dtype, shape in first["inputs"])
    return tuple(inputs), tuple(_extent(a, b) for a, b in pairs)


def _extent(one: Any, other: Any) -> Extent:
    from torchrepro_lint.verify.bits import same
    from torchrepro_lint.verify.difference import difference

    of = f"{str(one.dtype).removeprefix('torch.')} {tuple(one.shape)}"
    if same(one, other):
        return Extent(of, 0.0)
    found = difference(of, one, other)
    return Extent(of, found.fraction, found.max_ulp, found.max_relative)
