"""Probes of losses that are reduced over space or over the alignments of two sequences."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment
from torchrepro_lint.verify.given import SHAPE, Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, words
from torchrepro_lint.verify.probes.registry import probe

REDUCTIONS = ("mean", "sum", "none")


@probe("nll-loss2d", halves=True)
def nll_loss2d(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """The loss itself, of images and of sequences; of many, because CUDA may give each of them to one block."""
    reduction = known.choice(arguments, "reduction", REDUCTIONS)
    options = {"reduction": reduction, "label_smoothing": known.number(arguments, "label_smoothing", 0.0)}
    if arguments.get("ignore_index") is not None:
        options["ignore_index"] = known.integer(arguments, "ignore_index", -100, smallest=-(2**31), largest=2**31)
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    is_narrow = arguments.dtype is torch.float16  # its sums, and its counts of losses, end at 65,504
    batch, side = on(device, 4, 64), on(device, 48, 16 if is_narrow else 96)
    for positions in ((side, side), (side * side,)):
        draws = Draws(device, arguments)
        shape = (batch, 19, *positions)
        if SHAPE in arguments:
            if len(positions) == 1:
                return
            shape = known.shape(arguments, shape, len(arguments.get(SHAPE) or ()))  # type: ignore[arg-type]
        logits = draws.normal(*shape)
        target = draws.index(shape[0], *shape[2:], below=shape[1])
        yield Experiment(
            f"logits {words(logits)}, {told}",
            (logits, target),
            lambda logits, target: F.cross_entropy(logits, target, **options),  # type: ignore[arg-type]
        )


@probe("ctc-loss")
def ctc_loss(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """Few labels, so that each occurs often in a target; long inputs, for which CUDA adds with atomics.

    Targets are int64 on the device itself, which cuDNN does not take.
    """
    reduction = known.choice(arguments, "reduction", REDUCTIONS)
    blank = known.integer(arguments, "blank", 0, smallest=0)
    zero_infinity = known.flag(arguments, "zero_infinity")
    classes, time, length = max(12, blank + 1), on(device, 60, 500), on(device, 20, 100)
    draws = Draws(device, arguments)
    log_probs = draws.normal(time, 4, classes).log_softmax(2).requires_grad_()
    targets = draws.index(4, length, below=classes - 1)
    targets = torch.where(targets >= blank, targets + 1, targets)

    times, lengths = torch.full((4,), time), torch.full((4,), length)

    def operation(log_probs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.ctc_loss(log_probs, targets, times, lengths, blank, reduction, zero_infinity)

    yield Experiment(
        f"log_probs {words(log_probs)}, targets {words(targets)}, blank={blank}, reduction={reduction}, "
        f"zero_infinity={zero_infinity}; backward",
        (log_probs, targets),
        operation,
        backward=True,
    )
