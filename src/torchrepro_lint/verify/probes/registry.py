"""The table of probes: a family's module adds to it when it is imported. Holds no probe itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from torchrepro_lint.verify.experiment import Experiment

if TYPE_CHECKING:
    import torch

Probe: TypeAlias = "Callable[[torch.device, Mapping[str, object]], Iterator[Experiment]]"

PROBES: dict[str, Probe] = {}


def probe(name: str) -> Callable[[Probe], Probe]:
    """Registers a probe under the name that rows of the catalogue give in `probe`."""

    def register(function: Probe) -> Probe:
        PROBES[name] = function
        return function

    return register
