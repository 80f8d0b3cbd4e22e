"""Modules as operations: their parameters are inputs like any other, so that gradients of weights are compared too."""

from __future__ import annotations

from collections.abc import Callable

import torch

from torchrepro_lint.verify.probes.draws import Draws


def applied(
    module: torch.nn.Module, draws: Draws, *inputs: torch.Tensor
) -> tuple[tuple[torch.Tensor, ...], Callable[..., object]]:
    """Inputs and operation of `module(*inputs)`; a module made on the meta device gets small random weights."""
    names = [name for name, _ in module.named_parameters()]
    weights = [(0.1 * draws.normal(*w.shape)).to(inputs[0].dtype).requires_grad_() for w in module.parameters()]

    def operation(*tensors: torch.Tensor) -> object:
        arguments, parameters = tensors[: len(inputs)], tensors[len(inputs) :]
        return torch.func.functional_call(module, dict(zip(names, parameters, strict=True)), arguments)

    return (*inputs, *weights), operation
