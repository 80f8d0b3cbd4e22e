"""The verdicts of a file, for TRP501 to TRP504. Imports the analysis of operations only for files that call one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.kernels.triggers import any_called

if TYPE_CHECKING:
    from torchrepro_lint.kernels.verdicts import OperationVerdict


def verdicts_of(module: Module, program: Program, *, own: bool = True) -> Iterator[OperationVerdict]:
    """Those on PyTorch's own operations, or on those of other packages."""
    if any_called(module.facts):
        from torchrepro_lint.kernels.verdicts import verdicts

        yield from (v for v in verdicts(module, program) if (v.operation.package == "torch") is own)
