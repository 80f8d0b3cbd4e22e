"""A worker process with operations of its own: those that vary, raise, or want more memory than there is.

The operations are registered with PyTorch, so that nothing but their kernels is made up.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch

from torchrepro_lint.verify import worker
from torchrepro_lint.verify.experiment import Experiment, Missing, Unsupported
from torchrepro_lint.verify.probes.registry import probe


def entropy(count: int) -> torch.Tensor:
    """Floats that no run repeats: from the operating system, so that no seed reaches them."""
    return torch.frombuffer(bytearray(os.urandom(4 * count)), dtype=torch.int32).float()


@torch.library.custom_op("fake::varying", mutates_args=())
def varying(x: torch.Tensor) -> torch.Tensor:
    return x + entropy(x.numel()).reshape(x.shape)


@torch.library.custom_op("fake::switching", mutates_args=())
def switching(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.are_deterministic_algorithms_enabled() else varying(x)


@torch.library.custom_op("fake::other_kernel", mutates_args=())
def other_kernel(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.are_deterministic_algorithms_enabled() else x * 3


@torch.library.custom_op("fake::raising", mutates_args=())
def raising(x: torch.Tensor) -> torch.Tensor:
    if torch.are_deterministic_algorithms_enabled():
        raise RuntimeError(
            "fake_raising does not have a deterministic implementation, but you set "
            "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation."
        )
    return x * 2


@torch.library.custom_op("fake::writing", mutates_args=("x",))
def writing(x: torch.Tensor) -> None:
    x.add_(entropy(x.numel()).reshape(x.shape))


@torch.library.custom_op("fake::steady", mutates_args=())
def steady(x: torch.Tensor) -> torch.Tensor:
    return x * 2


_PROCESS = os.getpid()


def per_process(x: torch.Tensor) -> torch.Tensor:
    return x + _PROCESS


def _tried(operation: Callable[[torch.Tensor], object]) -> Callable[..., Iterator[Experiment]]:
    def experiments(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
        yield Experiment("x (64,) float32", (torch.arange(64.0, device=device),), operation)

    return experiments


def every_generator(x: torch.Tensor) -> torch.Tensor:
    """Draws from each: processes that do not seed them start with other numbers."""
    return torch.nn.functional.dropout(x) + torch.rand(64) + random.random() + float(np.random.rand())


def _raising(error: BaseException) -> Callable[[torch.Tensor], torch.Tensor]:
    """Fails under the flag alone, with an error that is no alert."""

    def operation(x: torch.Tensor) -> torch.Tensor:
        if torch.are_deterministic_algorithms_enabled():
            raise error
        return x * 2

    return operation


for _name, _operation in {
    "varying": varying, "switching": switching, "other-kernel": other_kernel, "raising": raising,
    "writing": writing, "steady": steady, "per-process": per_process,
    "random": every_generator, "sleeping": lambda x: time.sleep(600),
    "no-kernel": _raising(RuntimeError("No available kernel. Aborting execution.")),
    "wrong-dtype": _raising(RuntimeError("expected scalar type Half but found Float")),
    "not-implemented": _raising(NotImplementedError("\"f\" not implemented for 'Half'")),
    "wordless": _raising(RuntimeError()),
}.items():  # fmt: skip
    probe(f"fake-{_name}")(_tried(_operation))


@probe("fake-out-of-memory")
def out_of_memory(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    yield from _tried(lambda x: torch.ones(1 << 60, dtype=torch.uint8))(device, arguments)


def _under_the_flag(fails: Callable[[], object]) -> Callable[[torch.Tensor], object]:
    """Runs by default; fails once algorithms are to be deterministic."""
    return lambda x: fails() if torch.are_deterministic_algorithms_enabled() else x


def _lose_the_gpu() -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with `TORCH_USE_CUDA_DSA`")


@probe("fake-partly")
def partly(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    """The second of three dtypes has no kernel; a fourth, which nobody has asked for, has none either."""
    yield from _tried(varying)(device, arguments)
    x = torch.ones(4)
    yield Experiment("x (4,) other", (x,), lambda x: torch.matmul(x.view(2, 2), torch.ones(3, 3)))
    yield Experiment("x (4,) optional", (x,), lambda x: torch.linalg.inv(x.view(2, 2).half()), optional=True)
    yield Experiment("x (4,) last", (x,), steady)


@probe("fake-out-of-memory-in-det-mode")
def out_of_memory_in_det_mode(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    yield from _tried(lambda x: x)(device, arguments)
    yield from _tried(_under_the_flag(lambda: torch.ones(1 << 60, dtype=torch.uint8)))(device, arguments)


@probe("fake-lost-gpu-in-det-mode")
def lost_gpu_in_det_mode(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    yield from _tried(_under_the_flag(_lose_the_gpu))(device, arguments)


@probe("fake-printing")
def printing(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    """As libraries do, from Python and from C."""
    print("Hello from a library")
    os.write(1, b"Hello from its kernels\n")
    yield from _tried(steady)(device, arguments)


@probe("fake-missing")
def missing(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    raise Missing("torch_nowhere")
    yield from ()


@probe("fake-unsupported")
def unsupported(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    raise Unsupported("needs two GPUs")
    yield from ()


if __name__ == "__main__":
    worker.main(sys.argv[1:])
