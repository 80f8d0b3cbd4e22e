"""Probes of sums over ranks: this process is the first rank, and the others are processes that it starts.

On CUDA each rank has a GPU of its own and NCCL; on a CPU they share it, with gloo. It takes three ranks for the order
of a sum to show.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.peer import OPERATIONS, STOP, join, leave, reduced, signalled
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.registry import probe
from torchrepro_lint.verify.process import command_of_peer

_MOST = 8
_ON_A_CPU = 3
_PATIENCE = 10.0  # seconds in which a rank that was told to stop ends


@probe("nccl", halves=True)
def nccl(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Sums of as many numbers as there are ranks."""
    ranks = _ranks(device, arguments)
    count = on(device, 30_000, 4_000_000) // ranks * ranks
    backend = "nccl" if device.type == "cuda" else "gloo"
    with _peers(device, arguments, ranks, count) if not arguments.is_planned else _nobody():
        for name in OPERATIONS:
            x = Draws(device, arguments).normal(count)
            yield Experiment(
                f"{name} of {words(x)} over {ranks} ranks, {backend}",
                (x,),
                (lambda x: x) if arguments.is_planned else (lambda x, name=name: _together(name, x)),
                prelude=None,
            )


def _ranks(device: torch.device, arguments: Given) -> int:
    if not dist.is_available():
        raise Unsupported("this PyTorch is built without torch.distributed")
    if device.type != "cuda" or arguments.is_planned:
        return _ON_A_CPU
    here = torch.cuda.device_count()
    if here < 2:
        raise Unsupported("a sum over ranks takes two GPUs, and there is one")
    return min(here, _MOST)


def _together(name: str, x: torch.Tensor) -> torch.Tensor:
    """The operation in every rank, with the flag that this one has."""
    signalled(OPERATIONS.index(name), x.device)
    return reduced(name, x)


@contextmanager
def _nobody() -> Iterator[None]:
    yield


@contextmanager
def _peers(device: torch.device, arguments: Given, ranks: int, count: int) -> Iterator[None]:
    """The other ranks, from here to the end of the block."""
    dtype = str(arguments.dtype or torch.float32).removeprefix("torch.")
    first = torch.cuda.current_device() if device.type == "cuda" else 0
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        peers = [
            subprocess.Popen(
                command_of_peer(
                    str(rank), str(ranks), store, f"{device.type}:{(first + rank) % ranks}", dtype, str(count)
                ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for rank in range(1, ranks)
        ]
        try:
            join(0, ranks, store, torch.device(device.type, first) if device.type == "cuda" else device)
            yield
            signalled(STOP, device)
        finally:
            leave()
            for peer in peers:
                _end(peer)


def _end(peer: subprocess.Popen[bytes]) -> None:
    try:
        peer.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        peer.kill()
        peer.wait(_PATIENCE)
