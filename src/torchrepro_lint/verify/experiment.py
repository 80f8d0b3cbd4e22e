"""What probes hand to the measurement: one operation on concrete inputs, or the reason why there is none.

Knows neither how often an operation is repeated nor what a difference means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Experiment:
    """One concrete input for one operation: what is repeated, and what of it is compared.

    `operation(*inputs)` returns a tensor or a tuple of tensors, and may write to its inputs: every repeat gets
    fresh copies, and both outputs and inputs are compared. With `backward`, the gradients of the inputs that require
    one are compared too, for one random upstream gradient. An operation may draw random numbers: every repeat finds the
    generators as the first did. An `optional` one is run where there is a kernel for its dtype; one that
    `compiles` takes its time before the first run. `prelude` are statements that a script needs
    before it; None where no script can show what is shown here. `names` are those of the
    inputs; a `module` is asked which of its parts makes the difference.
    """

    summary: str  # shapes and dtypes in words: "x (64, 1000) float32, index (100000,) into 1000 rows, 99 % repeated"
    inputs: tuple[object, ...]
    operation: Callable[..., object]
    backward: bool = False
    optional: bool = False
    compiles: bool = False
    prelude: tuple[str, ...] | None = ()
    names: tuple[str, ...] | None = None
    module: torch.nn.Module | None = None


class Unsupported(Exception):
    """The operation cannot be probed this way; the message says why."""


class Missing(Exception):
    """A package that the operation belongs to cannot be imported; `reason` is what the attempt said."""

    def __init__(self, package: str, reason: str = "") -> None:
        super().__init__(f"{package} cannot be imported" + (f": {reason}" if reason else ""))
        self.package = package
