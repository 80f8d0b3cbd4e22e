"""Probes of padding with copies: an element's gradient is the sum over its copies.

Sums of two numbers are the same in any order: it takes three copies for the order to show, as in a corner of a plane,
or in a vector that is hardly longer than its padding.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import SHAPE, Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, planes, words
from torchrepro_lint.verify.probes.registry import Recipe, probe

WIDE = {1: 1_000, 2: 40, 3: 10}  # padding over several blocks of a GPU, by rank


def _padded(mode: str, rank: int) -> Recipe:
    def pad(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        known.fixed(arguments, "mode", mode)
        narrow, wide = _paddings(arguments, rank)
        usual = {1: on(device, 256, 2048), 2: on(device, 24, 64), 3: on(device, 8, 16)}[rank]
        for padding, side in (narrow, max(usual, 2 * max(narrow) + 1)), (wide, max(wide) + 1):
            yield _experiment(device, arguments, padding, side, mode)
            if SHAPE in arguments:
                return

    return pad


def _experiment(device: torch.device, arguments: Given, padding: tuple[int, ...], side: int, mode: str) -> Experiment:
    rank = len(padding) // 2
    shape = (2, planes(device, *[side + 2 * max(padding)] * rank), *[side] * rank)
    x = Draws(device, arguments).normal(*known.shape(arguments, shape), grad=True)
    return Experiment(
        f"x {words(x)} padded by {padding}, mode={mode}; backward",
        (x,),
        lambda x: F.pad(x, padding, mode),
        backward=True,
    )


def _paddings(arguments: Given, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """For a usual side, and for one hardly longer than it: the site's for both, of a module or of the function."""
    name = "pad" if "pad" in arguments else "padding"
    if name not in arguments:
        return (3,) * 2 * rank, (WIDE[rank],) * 2 * rank
    padding = known.sizes(arguments, name, 3, 2 * rank, smallest=0)
    if max(padding) > 4 * WIDE[rank]:
        raise Unsupported(f"no probe for {name}={list(padding)}")
    return padding, padding


for _rank in (1, 2, 3):
    probe(f"reflection-pad{_rank}d", halves=True)(_padded("reflect", _rank))
    probe(f"replication-pad{_rank}d", halves=True)(_padded("replicate", _rank))


@probe("replication-pad")
def replication_pad(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """In as many dimensions as the padding of the call has pairs."""
    padding = arguments.get("pad")
    rank = len(padding) // 2 if isinstance(padding, (list, tuple)) else 2
    if rank not in (1, 2, 3):
        raise Unsupported(f"no probe for pad={padding!r}")
    return _padded("replicate", rank)(device, arguments)


@probe("stft-reflect")
def stft_reflect(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Frames that overlap fourfold."""
    known.fixed(arguments, "center", True)
    known.fixed(arguments, "pad_mode", "reflect")
    yield _frames(device, arguments, center=True)


@probe("stft-frames")
def stft_frames(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """The same without the padding."""
    known.fixed(arguments, "center", False)
    yield _frames(device, arguments, center=False)


def _frames(device: torch.device, arguments: Given, *, center: bool) -> Experiment:
    size = known.integer(arguments, "n_fft", 256)
    hop = known.integer(arguments, "hop_length", max(1, size // 4))
    draws = Draws(device, arguments)
    x = draws.normal(*known.shape(arguments, (4, size * on(device, 16, 128))), grad=True)
    long = known.integer(arguments, "win_length", size)
    window = torch.hann_window(long, device=device)
    padded = "centred with reflection" if center else "not centred"
    return Experiment(
        f"x {words(x)}, n_fft={size}, hop_length={hop}, win_length={long}, {padded}; backward",
        (x, window),
        lambda x, window: torch.view_as_real(
            torch.stft(x, size, hop, long, window=window, center=center, return_complex=True)
        ),
        backward=True,
    )
