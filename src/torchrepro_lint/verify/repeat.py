"""Runs the same trial over and over and compares bytes: with default settings, or under the deterministic flag.

Outcomes are compared with the first of the same arm and never across arms: two algorithms may differ without either
varying. Knows trials and digests; not what a difference means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from torchrepro_lint.verify.bits import digest, first_different
from torchrepro_lint.verify.difference import difference
from torchrepro_lint.verify.failures import REFUSALS, in_short, of_determinism, of_device, of_memory
from torchrepro_lint.verify.results import Arm, Difference
from torchrepro_lint.verify.trial import Trial

_ENOUGH = 20  # repeats once a difference has been seen: it is proven, the rest only counts outcomes
_LEAST = 3  # repeats, however slow


@dataclass(frozen=True)
class Effort:
    """How hard to look: repeats in this process, and seconds after which an arm stops repeating."""

    repeats: int = 20
    patience: float = 10.0


def repeat(trial: Trial, effort: Effort, before: Callable[[], None]) -> Arm:
    """Run it until `effort` is spent; `before` is called ahead of each run."""
    before()
    reference = trial.run()
    stop = time.monotonic() + effort.patience  # from here on: the first run may have compiled kernels
    outputs = [digest(reference)]
    found: Difference | None = None
    while len(outputs) < effort.repeats:
        if (found and len(outputs) >= _ENOUGH) or (len(outputs) >= _LEAST and time.monotonic() > stop):
            break
        before()
        outcome = trial.run()
        part = first_different(reference, outcome)
        outputs.append(outputs[0] if part is None else digest(outcome))
        if part is not None and found is None:
            both = part in reference and part in outcome
            found = difference(part, reference[part], outcome[part]) if both else Difference(part)
    return Arm(tuple(outputs), found)


def repeat_deterministically(trial: Trial, effort: Effort, before: Callable[[], None]) -> Arm:
    """The same under the flag: its alert, or what else it raises there though it ran without."""
    with deterministic():
        try:
            return repeat(trial, effort, before)
        except REFUSALS as error:
            if of_memory(error) or of_device(error):
                raise
            return Arm(alert=in_short(error)) if of_determinism(error) else Arm(failure=in_short(error))


@contextmanager
def deterministic() -> Iterator[None]:
    """PyTorch's strict flag on, and afterwards everything as it was."""
    strict, lenient = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    compiler = _compiler()
    compiled = getattr(compiler, "deterministic", None)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=lenient)
        if compiled is not None:
            compiler.deterministic = compiled


def _compiler() -> Any:
    """The compiler's settings, of which PyTorch changes one with the flag (2.10) without asking what it was."""
    try:
        return import_module("torch._inductor.config")
    except ImportError:
        return None
