"""Which measurement speaks of a verdict, and what it settles. The findings speak of CUDA: only a run there settles
anything, and only for the releases in which the operation behaves as it did in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from torchrepro_lint.dataflow import Program
from torchrepro_lint.elements import Certainty, Property
from torchrepro_lint.evidence import CONFIRMED, NOT_REPRODUCED, Measured
from torchrepro_lint.kernels.operations import in_range
from torchrepro_lint.kernels.verdicts import OperationVerdict
from torchrepro_lint.project.versions import effective

Arguments = Mapping[str, Property]


class Weighed(NamedTuple):
    """What a measurement makes of a verdict, and that measurement in words that name what was different in it."""

    settled: Literal["confirmed", "refuted"] | None
    measured: Measured
    words: str


def weighed(verdict: OperationVerdict, arguments: Arguments, program: Program) -> Weighed | None:
    """By the measurement that is nearest to the call at hand; None where nothing relevant was measured."""
    found = program.evidence.of(verdict.operation.id)
    nearest = min(found, key=lambda item: _distance(item, arguments), default=None)
    if nearest is None or (nearest.device != "cuda" and nearest.verdict not in CONFIRMED):
        return None  # that a CPU agreed with itself says nothing of CUDA; that it did not is worth telling
    return Weighed(_settled(nearest, verdict, arguments, program), nearest, _words(nearest, arguments, program))


def _distance(item: Measured, arguments: Arguments) -> tuple[bool, bool, int]:
    """On CUDA before elsewhere, the user's own before others', with these arguments before the recipe's before any."""
    how = 0 if item.arguments == arguments else 1 if not item.arguments else 2
    return item.device != "cuda", not item.is_own, how


def _settled(
    item: Measured, verdict: OperationVerdict, arguments: Arguments, program: Program
) -> Literal["confirmed", "refuted"] | None:
    if item.device != "cuda" or not in_range(item.release, verdict.behaviour.torch):
        return None
    is_this_call = item.is_own and item.arguments == arguments and _other_torch(item, program) is None
    if item.verdict in CONFIRMED:  # others saw that the kernel varies, not whether a gradient comes to it here
        is_settled = item.is_own and verdict.certainty is not Certainty.DEPENDS
        return "confirmed" if is_this_call or is_settled else None
    is_whole = item.verdict == NOT_REPRODUCED and item.reason is None
    return "refuted" if is_whole and is_this_call else None


def _words(item: Measured, arguments: Arguments, program: Program) -> str:
    unlike = ["other arguments"] if item.arguments and item.arguments != arguments else []
    if other := _other_torch(item, program):
        unlike.append(f"this program has torch {other}")
    return f"{item.words} ({', '.join(unlike)})" if unlike else item.words


def _other_torch(item: Measured, program: Program) -> str | None:
    """The release of PyTorch that the program asks for, where it was measured with another one."""
    if program.project.torch_version is None:
        return None
    release = effective(program.project.torch_version).release[:2]
    return None if release == item.release else ".".join(map(str, release))
