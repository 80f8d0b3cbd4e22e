"""The table of probes: a family's module adds to it when it is imported. Holds no probe itself.

A probe is run in passes: with the dtypes and layouts that its operation has kernels of its own for, or those of the
call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import DTYPE, MEMORY_FORMAT, Given

Probe: TypeAlias = Callable[[torch.device, Mapping[str, object]], Iterator[Experiment]]
Recipe: TypeAlias = Callable[[torch.device, Given], Iterator[Experiment]]

PROBES: dict[str, Probe] = {}

LAYOUTS = ("contiguous_format", "channels_last", "channels_last_3d")
_HALVES = (torch.bfloat16, torch.float16)


def probe(name: str, *, halves: bool = False, channels_last: bool = False) -> Callable[[Recipe], Recipe]:
    """Registers a probe under the name that rows of the catalogue give in `probe`.

    `halves`: its kernels exist in half precision too, where on CUDA their atomics are others. `channels_last`: they do
    for that layout.
    """

    def register(recipe: Recipe) -> Recipe:
        def run(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
            given = arguments if isinstance(arguments, Given) else Given(arguments)
            on_cuda = device.type == "cuda"
            for dtype in _dtypes(given, halves and on_cuda):
                for layout in _layouts(given, channels_last and on_cuda and dtype is torch.float32):
                    for experiment in recipe(device, given.in_pass(dtype, layout)):
                        is_tried = given.peek(DTYPE) is None and dtype in _HALVES
                        yield replace(experiment, optional=experiment.optional or is_tried)

        PROBES[name] = run
        return recipe

    return register


def _dtypes(given: Given, halves: bool) -> tuple[torch.dtype, ...]:
    """That of the call, or else those of the recipe."""
    wanted = given.peek(DTYPE)
    if wanted is None:
        return (torch.float32, *_HALVES) if halves else (torch.float32,)
    dtype = getattr(torch, str(wanted).removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise Unsupported(f"no probe for inputs of {wanted}")
    return (dtype,)


def _layouts(given: Given, channels_last: bool) -> tuple[str | None, ...]:
    wanted = given.peek(MEMORY_FORMAT)
    if wanted is None:
        return (None, "channels_last") if channels_last else (None,)
    if str(wanted).removeprefix("torch.") not in LAYOUTS:
        raise Unsupported(f"no probe for inputs in {wanted}")
    return (str(wanted).removeprefix("torch."),)
