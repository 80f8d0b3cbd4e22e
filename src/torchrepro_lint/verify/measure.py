"""Measures one experiment: does it vary, what does the deterministic flag make of it, and what does that cost.

The whole procedure at a glance; each step has a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.locate import locate
from torchrepro_lint.verify.repeat import Effort, repeat, repeat_deterministically
from torchrepro_lint.verify.results import Measurement
from torchrepro_lint.verify.stress import stress
from torchrepro_lint.verify.timing import clock_of, slowdown
from torchrepro_lint.verify.trial import Trial

_TIMING_SHARE = 0.1  # of the patience: the time that the comparison of speeds may take


def measure(
    experiment: Experiment,
    device: torch.device,
    effort: Effort,
    *,
    stressed: bool = False,
    step: Callable[[], None] = lambda: None,
) -> Measurement:
    """Both arms, one after the other, and the slowdown where the flag raises nothing.

    `step` is called between the steps, of which the first compiles kernels, and the others do so under the flag.
    """
    trial = Trial.of(experiment, device)
    step()
    busy: AbstractContextManager[Callable[[], None]] = stress(device) if stressed else nullcontext(_nothing)
    with busy as before:
        default = repeat(trial, effort, before)
        step()
        strict = repeat_deterministically(trial, effort, before)
        step()
        module = experiment.module if default.distinct > 1 else None
        place = locate(trial, module, before) if module is not None else None
    return Measurement(
        summary=experiment.summary,
        inputs=trial.inputs,
        default=default,
        deterministic=strict,
        slowdown=None if not strict.outputs else slowdown(trial, clock_of(device), effort.patience * _TIMING_SHARE),
        place=place,
    )


def _nothing() -> None:
    """What comes before a run on a machine that is left alone."""
