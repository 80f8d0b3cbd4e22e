"""The state of every generator of random numbers that an operation may draw from, to be put back before each run."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import Any

import torch

from torchrepro_lint.verify.devices import module_of


@dataclass(frozen=True)
class RandomState:
    """A snapshot of the generators of Python, NumPy (where it is loaded), and PyTorch on the CPU and one device."""

    device: torch.device
    python: Any
    numpy: Any
    cpu: torch.Tensor
    accelerator: torch.Tensor | None

    @staticmethod
    def now(device: torch.device) -> RandomState:
        """The state at this moment."""
        return RandomState(
            device,
            random.getstate(),
            sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None,
            torch.get_rng_state(),
            None if device.type == "cpu" else module_of(device).get_rng_state(device),
        )

    def restore(self) -> None:
        """Put every generator back."""
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy"].random.set_state(self.numpy)
        torch.set_rng_state(self.cpu)
        if self.accelerator is not None:
            module_of(self.device).set_rng_state(self.accelerator, self.device)
