"""How much memory and time an experiment takes, before it is run and without its device: from its shapes alone.

Rates are those of a recent GPU where kernels contend for few places, set generously. Runs nothing: tensors are fake.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import torch

from torchrepro_lint.verify.experiment import Experiment, Missing, Unsupported
from torchrepro_lint.verify.failures import REFUSALS
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes.registry import Probe
from torchrepro_lint.verify.timing import RUNS as TIMED
from torchrepro_lint.verify.trial import tensors

_RATES = {"cuda": (5e-4, 40e9), "cpu": (1e-4, 1e9)}  # seconds for each run, and bytes a second
_DIGESTED = 1e9  # bytes a second, on the host
_DIGESTS = 20  # outcomes that differ, at most


def planned(probe: Probe, device: torch.device, given: Given, repeats: int) -> Iterator[dict[str, Any]]:
    """Summary, bytes at the peak and seconds of each experiment."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    given.is_planned = True
    with FakeTensorMode(allow_non_fake_inputs=True):
        for experiment in probe(device, given):
            given_bytes, left, gradients = _sizes(experiment)
            yield {
                "summary": experiment.summary,
                # The inputs and a copy; outcomes of the first run and of this one; the upstream gradient.
                "bytes": 2 * given_bytes + 3 * left + 2 * gradients,
                "compiles": experiment.compiles,
                "seconds": _seconds(experiment, device, given_bytes, left + gradients, repeats),
            }


def _sizes(experiment: Experiment) -> tuple[int, int, int]:
    """Bytes of inputs, of outputs, and of gradients."""
    inputs = list(tensors(experiment.inputs))
    gradients = _bytes([tensor for tensor in inputs if tensor.requires_grad]) if experiment.backward else 0
    if experiment.compiles:
        return _bytes(inputs), _bytes(inputs), gradients
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        try:
            outputs = list(tensors(experiment.operation(*(tensor.detach() for tensor in inputs))))
        except (*REFUSALS, Missing, Unsupported):  # the size of an output may depend on values
            outputs = inputs
    return _bytes(inputs), _bytes(outputs), gradients


def _seconds(experiment: Experiment, device: torch.device, given: int, left: int, repeats: int) -> float:
    start, rate = _RATES[device.type]
    runs = 2 * repeats + TIMED + 2
    moved = given + (3 if experiment.backward else 1) * left
    digests = (given + _DIGESTS * left) / _DIGESTED
    return runs * (start + moved / rate) + digests


def _bytes(found: list[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in found)
