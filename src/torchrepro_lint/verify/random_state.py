"""The state of every generator of random numbers that an operation may draw from: seeded, and put back before each run.

They are seeded because processes are compared with one another, and Python and NumPy start each with other numbers.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import Any

import torch

from torchrepro_lint.verify.devices import module_of

SEED = 1
"""Of no other draw: inputs have another one, and so do upstream gradients, for what is equal may hide a difference."""


@dataclass(frozen=True)
class RandomState:
    """A snapshot of the generators of Python, NumPy (where it is loaded), and PyTorch on the CPU and one device."""

    device: torch.device
    python: Any
    numpy: Any
    cpu: torch.Tensor
    accelerator: torch.Tensor | None

    @staticmethod
    def seeded(device: torch.device) -> RandomState:
        """The same state in every process: all generators are seeded."""
        random.seed(SEED)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(SEED)
        torch.manual_seed(SEED)  # the generators of every device too, without making use of one
        return RandomState.now(device)

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

    def tensors(self) -> dict[str, torch.Tensor]:
        """The same as numbers, for a digest."""
        found = {"python": torch.tensor(self.python[1]), "cpu": self.cpu}
        if self.numpy is not None:
            found["numpy"] = torch.tensor([*map(int, self.numpy[1]), self.numpy[2]])
        if self.accelerator is not None:
            found["accelerator"] = self.accelerator
        return {f"generator of {name}": state for name, state in found.items()}
