"""Random inputs for probes: the same ones every time, on the device where they are used.

Values are drawn once, before any repeat: what an operation is given never varies, only what it makes of it.
"""

from __future__ import annotations

import torch


class Draws:
    """Draws tensors from a generator of its own, so that no global random state is read or advanced."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.generator = torch.Generator(device=device).manual_seed(0)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
        """Standard normal values, drawn as float32 so that every dtype has them on every device."""
        values = torch.randn(shape, generator=self.generator, device=self.device)
        return values.to(dtype).requires_grad_(grad)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32, grad: bool = False
    ) -> torch.Tensor:
        """Values between `low` and `high`."""
        values = torch.rand(shape, generator=self.generator, device=self.device)
        return (low + (high - low) * values).to(dtype).requires_grad_(grad)

    def index(self, *shape: int, below: int) -> torch.Tensor:
        """Whole numbers from 0 to `below` - 1; with fewer values than places, they repeat."""
        return torch.randint(below, shape, generator=self.generator, device=self.device)
