"""One run of an experiment: fresh copies of its inputs, generators as they were, everything it leaves behind.

What is the same in every run, and in every process, is settled before the first: the state of the generators and the
upstream gradients, which are random because gradients of one hide the order of a sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from torchrepro_lint.verify.bits import Outcome, digest, same
from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.random_state import RandomState

UPSTREAM_SEED = 2  # inputs have 0 and generators 1: a gradient that equals an input is no gradient of a program's


@dataclass(frozen=True)
class Trial:
    """An experiment that can be run again and again. Running it changes neither it nor its inputs."""

    experiment: Experiment
    state: RandomState
    upstream: tuple[torch.Tensor, ...]

    @staticmethod
    def of(experiment: Experiment, device: torch.device) -> Trial:
        """Runs the experiment once: to learn the shapes of its outputs, and to have it warmed up."""
        state = RandomState.seeded(device)
        outputs = tensors(experiment.operation(*(_copy(item) for item in experiment.inputs)))
        generator = torch.Generator(device=device).manual_seed(UPSTREAM_SEED)
        upstream = tuple(_normal(output, generator) for output in outputs if output.requires_grad)
        ready = Trial(experiment, state, upstream)
        ready.run()
        return ready

    @property
    def inputs(self) -> str:
        """The digest of all that a run is given."""
        given = {f"input {n}": tensor for n, tensor in enumerate(tensors(self.experiment.inputs), 1)}
        upstream = {f"upstream {n}": tensor for n, tensor in enumerate(self.upstream, 1)}
        return digest(given | upstream | self.state.tensors())

    def prepared(self) -> tuple[object, ...]:
        """Copies of the inputs; the generators are put back."""
        inputs = tuple(_copy(item) for item in self.experiment.inputs)
        self.state.restore()
        return inputs

    def execute(self, inputs: tuple[object, ...]) -> list[torch.Tensor]:
        """The operation and, where it is wanted, its backward pass; the outputs."""
        outputs = list(tensors(self.experiment.operation(*inputs)))
        if self.experiment.backward:
            torch.autograd.backward([output for output in outputs if output.requires_grad], self.upstream)
        return outputs

    def run(self) -> Outcome:
        """Outputs, gradients, and the inputs that were written to."""
        inputs = self.prepared()
        outputs = self.execute(inputs)
        names = ["output"] if len(outputs) == 1 else [f"output {number}" for number in range(1, len(outputs) + 1)]
        left = dict(zip(names, outputs, strict=True))
        for number, (given, used) in enumerate(zip(tensors(self.experiment.inputs), tensors(inputs), strict=True), 1):
            if used.is_leaf and used.grad is not None:
                left[f"gradient of {self._name(number)}"] = used.grad
            if not any(used is output for output in outputs) and not same(given, used):
                left[self._name(number)] = used
        return {name: tensor.detach() for name, tensor in left.items()}

    def _name(self, number: int) -> str:
        names = self.experiment.names
        return names[number - 1] if names else f"input {number}"


def tensors(value: object) -> Iterator[torch.Tensor]:
    """The tensors in a value, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, Mapping):
        yield from tensors(tuple(value.values()))


def _copy(value: object) -> object:
    match value:
        case torch.Tensor():
            return value.detach().clone().requires_grad_(value.requires_grad)
        case list():
            return [_copy(item) for item in value]
        case tuple() if type(value) is tuple:
            return tuple(_copy(item) for item in value)
        case _:
            return value


def _normal(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Laid out in memory as the output is: some kernels are chosen by the strides of the gradient."""
    if like.layout is not torch.strided:
        return torch.randn(like.shape, dtype=like.dtype, device=like.device, generator=generator)
    return torch.empty_like(like).normal_(generator=generator)
