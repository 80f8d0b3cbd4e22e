"""Another rank of a process group, which takes part in the collectives that the first rank calls for.

Does what it is told and measures nothing: what it contributes is the same every time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist

OPERATIONS = ("all_reduce", "reduce_scatter")
STOP = -1
_TIMEOUT = timedelta(seconds=60)


def main(arguments: Sequence[str]) -> None:
    """Rank, number of ranks, file where they meet, device, dtype, and number of elements."""
    rank, ranks, store, name, dtype, count = arguments
    device = torch.device(name if name.startswith("cuda") else "cpu")
    join(int(rank), int(ranks), store, device)
    generator = torch.Generator().manual_seed(100 + int(rank))
    x = torch.randn(int(count), generator=generator).to(device, getattr(torch, dtype))
    while (told := signalled(STOP, device)) != STOP:
        reduced(OPERATIONS[told], x.clone())
    leave()


def join(rank: int, ranks: int, store: str, device: torch.device) -> None:
    """Become a rank of the group."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=ranks, timeout=_TIMEOUT)


def leave() -> None:
    """The group comes to its end."""
    if dist.is_initialized():
        dist.destroy_process_group()


def signalled(what: int, device: torch.device) -> int:
    """What the first rank says is to be done, and whether under the deterministic flag."""
    strict = torch.are_deterministic_algorithms_enabled()
    told = torch.tensor([what, int(strict)], device=device)
    dist.broadcast(told, 0)
    operation, flag = told.tolist()
    if bool(flag) != strict:
        torch.use_deterministic_algorithms(bool(flag))
    return int(operation)


def reduced(name: str, x: torch.Tensor) -> torch.Tensor:
    """The sum over ranks, or this rank's part of it."""
    if name == "all_reduce":
        dist.all_reduce(x)
        return x
    part = torch.empty(x.numel() // dist.get_world_size(), dtype=x.dtype, device=x.device)
    dist.reduce_scatter_tensor(part, x)
    return part


if __name__ == "__main__":
    main(sys.argv[1:])
