"""Random inputs for probes: the same ones every time, on the device where they are used.

Values are drawn once, before any repeat: what an operation is given never varies, only what it makes of it.
"""

from __future__ import annotations

import torch

from torchrepro_lint.verify.given import DTYPE, MEMORY_FORMAT, Given

_LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}


class Draws:
    """Draws tensors from a generator of its own, so that no global random state is read or advanced.

    Their dtype and layout are those of the pass that `given` stands for.
    """

    def __init__(self, device: torch.device, given: Given | None = None) -> None:
        self.device = device
        self._given = Given({}) if given is None else given
        planned = self._given.is_planned  # then no device need be there
        self.generator = None if planned else torch.Generator(device=device).manual_seed(0)

    def normal(self, *shape: int, dtype: torch.dtype | None = None, grad: bool = False) -> torch.Tensor:
        """Standard normal values, drawn as float32 so that every dtype has them on every device."""
        values = torch.randn(shape, generator=self.generator, device=self.device)
        return self._of_the_pass(values, dtype).requires_grad_(grad)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype | None = None, grad: bool = False
    ) -> torch.Tensor:
        """Values between `low` and `high`."""
        values = torch.rand(shape, generator=self.generator, device=self.device)
        return self._of_the_pass(low + (high - low) * values, dtype).requires_grad_(grad)

    def index(self, *shape: int, below: int) -> torch.Tensor:
        """Whole numbers from 0 to `below` - 1; with fewer values than places, they repeat."""
        return torch.randint(below, shape, generator=self.generator, device=self.device)

    def _of_the_pass(self, values: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
        if dtype is None:
            self._given.follow(DTYPE)
            dtype = self._given.dtype or torch.float32
        layout = self._given.layout or ""
        if values.dim() in _LAYOUTS:
            self._given.follow(MEMORY_FORMAT)
            if layout.startswith("channels_last"):
                values = values.clone(memory_format=_LAYOUTS[values.dim()])
        return values.to(dtype)
