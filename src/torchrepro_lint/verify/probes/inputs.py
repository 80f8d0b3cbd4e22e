"""Inputs of probes: random and the same every time, large enough for several blocks on a GPU, small enough for a CPU.

Values are drawn once, before any repeat: what an operation is given never varies, only what it makes of it. Atomics of
one block seldom change places, so that contention on a GPU needs many of them; on a CPU every repeat should take a few
milliseconds. Knows no operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from torchrepro_lint.verify.experiment import Unsupported
from torchrepro_lint.verify.given import DTYPE, MEMORY_FORMAT, Given

LARGEST_PLANE = 2**24
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


# -- sizes ------------------------------------------------------------------------------------------------------------
def on(device: torch.device, cpu: int, gpu: int) -> int:
    """The size for this device."""
    return cpu if device.type == "cpu" else gpu


def words(tensor: torch.Tensor) -> str:
    """A tensor's shape and dtype: `(64, 1000) float32`, and that its channels come last."""
    layout = " channels_last" if _is_channels_last(tensor) else ""
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}{layout}"


def _is_channels_last(tensor: torch.Tensor) -> bool:
    layout = _LAYOUTS.get(tensor.dim())
    return layout is not None and not tensor.is_contiguous() and tensor.is_contiguous(memory_format=layout)


def planes(device: torch.device, *shape: int) -> int:
    """How many channels of this shape to take: fewer of larger ones."""
    elements = math.prod(shape)
    if elements > LARGEST_PLANE:
        raise Unsupported(f"a plane of {shape} is too large for a probe")
    return max(1, min(64, on(device, 2**16, 2**22) // elements))


# -- modules as operations ---------------------------------------------------------------------------------------------
def applied(
    module: torch.nn.Module, draws: Draws, *inputs: torch.Tensor
) -> tuple[tuple[torch.Tensor, ...], Callable[..., object]]:
    """Inputs and operation of `module(*inputs)`: its parameters are inputs like any other, so that gradients of weights
    are compared too. A module made on the meta device gets small random weights."""
    names = [name for name, _ in module.named_parameters()]
    weights = [(0.1 * draws.normal(*w.shape)).to(inputs[0].dtype).requires_grad_() for w in module.parameters()]

    def operation(*tensors: torch.Tensor) -> object:
        arguments, parameters = tensors[: len(inputs)], tensors[len(inputs) :]
        return torch.func.functional_call(module, dict(zip(names, parameters, strict=True)), arguments)

    return (*inputs, *weights), operation
