"""A GPU that is none: what is made for CUDA is made on the CPU, so that what only CUDA reaches runs with real tensors.

Clocks and streams are the CPU's; other packages' kernels return their input; compilers compile nothing.
"""

from __future__ import annotations

import gc
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

CPU = torch.device("cpu")


def _here(value: Any) -> Any:
    return CPU if isinstance(value, (str, torch.device)) and str(value).startswith("cuda") else value


class _OnTheCpu(TorchFunctionMode):
    """Every tensor for CUDA is one of the CPU's."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        moved = {name: _here(value) for name, value in (kwargs or {}).items()}
        return func(*map(_here, args), **moved)


class Event:
    def __init__(self, enable_timing: bool) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return (end.at - self.at) * 1000


class Stream:
    def __init__(self, priority: int) -> None:
        self.priority = priority

    def synchronize(self) -> None:
        pass


MODULE = types.SimpleNamespace(
    Event=Event, Stream=Stream, stream=lambda stream: nullcontext(), synchronize=lambda: None,
    _sleep=lambda cycles: None, get_rng_state=lambda device: torch.get_rng_state(),
    set_rng_state=lambda state, device: torch.set_rng_state(state),
)  # fmt: skip


class _Package(torch.nn.Module):
    """Any function of a package: gives its first tensor of floats back, from which gradients pass."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *values: Any, **options: Any) -> Any:
        floats = [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
        return floats[0] * 1 if floats else self

    apply = __call__

    def named_parameters(self, *args: Any, **options: Any) -> Iterator[Any]:
        yield from ()

    parameters = named_parameters  # type: ignore[assignment]


class _Kernel:
    """A kernel of triton's: started, it does nothing."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function

    def __getitem__(self, grid: object) -> Callable[..., None]:
        return lambda *values, **options: None


def _triton() -> Mapping[str, types.ModuleType]:
    triton, language = types.ModuleType("triton"), types.ModuleType("triton.language")
    vars(triton).update(jit=_Kernel, cdiv=lambda a, b: -(-a // b), language=language)
    vars(language).update(constexpr=int)
    return {"triton": triton, "triton.language": language}


@cache
def _import() -> None:
    """What would look for triton, or be searched by the garbage collector after each experiment."""
    from torch.nn.attention import flex_attention  # noqa: F401

    from torchrepro_lint.verify import probes
    from torchrepro_lint.verify.repeat import deterministic

    probes.find("no such probe")
    with deterministic():  # imports PyTorch's compiler
        pass
    gc.collect()
    gc.freeze()


@contextmanager
def stand_in(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The GPU is there within the block."""
    _import()
    generator = torch.Generator
    patch.setattr(torch, "Generator", lambda device="cpu": generator("cpu"))
    patch.setattr(torch, "compile", lambda function: function)
    patch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    patch.setattr(torch.cuda, "set_device", lambda index: None)
    patch.setattr(torch.cuda, "device_count", lambda: 2)
    for name in ("timing._WARM_UPS", "timing._PAIRS", "timing._LEAST_PAIRS", "repeat._LEAST"):
        patch.setattr(f"torchrepro_lint.verify.{name}", 2)
    for module in ("timing", "stress", "random_state"):
        patch.setattr(f"torchrepro_lint.verify.{module}.module_of", lambda device: MODULE)
    for name, module in list(sys.modules.items()):
        if name.startswith("torchrepro_lint.verify.probes"):
            if hasattr(module, "on"):
                patch.setattr(module, "on", lambda device, cpu, gpu: cpu)
            if hasattr(module, "imported"):
                patch.setattr(module, "imported", lambda package: _Package())
    for name, module in _triton().items():
        patch.setitem(sys.modules, name, module)
    with _OnTheCpu():
        yield
