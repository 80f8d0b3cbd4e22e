"""Probes of pooling: windows overlap, and an element's gradient is the sum over the windows that it lies in.

Sums of two numbers are the same in any order: it takes three windows for the order to show, so that inputs are not much
larger than outputs, and their sizes do not divide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import SHAPE, Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, on, planes, words
from torchrepro_lint.verify.probes.registry import Recipe, probe

Tensor = torch.Tensor
Pool = Callable[..., Any]

DEFAULT_OUTPUTS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((7,), (256,)),
    2: ((7, 7), (64, 64)),
    3: ((5, 5, 5), (16, 16, 16)),
}


def _input(device: torch.device, arguments: Given, *sides: int) -> Tensor:
    shape = known.shape(arguments, (2, planes(device, *sides), *sides))
    return Draws(device, arguments).normal(*shape, grad=True)


def _grey(device: torch.device, arguments: Given, *sides: int) -> Tensor:
    """Of one channel: with few, CUDA gives a plane to several blocks, whose order varies most."""
    return Draws(device, arguments).normal(planes(device, *sides), 1, *sides, grad=True)


def _adaptive(pool: Pool, rank: int) -> Recipe:
    def adaptive(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        for output in _output_sizes(arguments, rank):
            if SHAPE in arguments:
                yield _pooled(_input(device, arguments, *_uneven(output)), output, pool)
                continue
            yield _pooled(_grey(device, arguments, *_uneven(output)), output, pool)
            yield _pooled(_input(device, arguments, *_large(output)), output, pool)
            if rank == 1:
                yield _pooled(_grey(device, arguments, *_short(output)), output, pool)
                yield _pooled(_grey(device, arguments, *_tiny(output)), output, pool)

    return adaptive


def _pooled(x: Tensor, output: tuple[int | None, ...], pool: Pool) -> Experiment:
    return Experiment(f"x {words(x)} to {output}; backward", (x,), lambda x: pool(x, output), backward=True)


def _output_sizes(arguments: Given, rank: int) -> tuple[tuple[int | None, ...], ...]:
    """The site's, where None keeps the size of the input; a small and a large one where it says nothing."""
    value = arguments.get("output_size")
    if value is None:
        return DEFAULT_OUTPUTS[rank]
    kept = [n is None for n in value] if isinstance(value, (list, tuple)) else []
    numbers = [n or KEPT for n in value] if isinstance(value, (list, tuple)) else value
    output = known.sizes({"output_size": numbers}, "output_size", 1, rank)
    if max(output) > 512:
        raise Unsupported(f"no probe for output_size={value!r}")
    return (tuple(None if keeps else n for n, keeps in zip(output, kept or [False] * rank, strict=True)),)


KEPT = 40
"""The size of the input where the output keeps it."""


def _uneven(output: tuple[int | None, ...]) -> tuple[int, ...]:
    """Half as large again and one more: windows of two or three elements that overlap."""
    return tuple(KEPT if n is None else n * 3 // 2 + 1 for n in output)


def _short(output: tuple[int | None, ...]) -> tuple[int, ...]:
    """A third as large, so that a vector's element lies in three windows and more."""
    return tuple(KEPT if n is None else n // 3 + 1 for n in output)


def _tiny(output: tuple[int | None, ...]) -> tuple[int, ...]:
    """So short that each element of a vector lies in dozens of windows: it is one warp that adds them."""
    return tuple(KEPT if n is None else n // 64 + 2 for n in output)


def _large(output: tuple[int | None, ...]) -> tuple[int, ...]:
    """Several times as large and one more, as features usually are."""
    times = 8 if len(output) < 3 and max(n or 0 for n in output) < 64 else 3
    return tuple(KEPT if n is None else times * n + 1 for n in output)


probe("adaptive-avg-pool1d", halves=True)(_adaptive(F.adaptive_avg_pool1d, 1))
probe("adaptive-avg-pool2d", halves=True)(_adaptive(F.adaptive_avg_pool2d, 2))
probe("adaptive-avg-pool3d", halves=True)(_adaptive(F.adaptive_avg_pool3d, 3))
probe("adaptive-max-pool1d", halves=True)(_adaptive(F.adaptive_max_pool1d, 1))
probe("adaptive-max-pool2d", halves=True)(_adaptive(F.adaptive_max_pool2d, 2))
probe("adaptive-max-pool3d", halves=True)(_adaptive(F.adaptive_max_pool3d, 3))


def _windows(arguments: Given, rank: int, step: int = 1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Kernel and stride of the site, where no stride means that of the kernel; else windows that overlap."""
    kernel = known.sizes(arguments, "kernel_size", 3, rank)
    step = step if "kernel_size" not in arguments else 0
    stride = known.sizes(arguments, "stride", step or kernel, rank)
    if max(kernel) > 32:
        raise Unsupported(f"no probe for kernel_size={kernel}")
    return kernel, stride


def _volume(device: torch.device, arguments: Given, kernel: tuple[int, ...]) -> Tensor:
    return _input(device, arguments, *(on(device, 8, 24) + n for n in kernel))


@probe("avg-pool3d", halves=True)
def avg_pool3d(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """By default with a stride of two: for strides of one CUDA has a kernel that gathers."""
    kernel, stride = _windows(arguments, 3, step=2)
    options: dict[str, Any] = {
        "padding": known.sizes(arguments, "padding", 0, 3, smallest=0),
        "ceil_mode": known.flag(arguments, "ceil_mode"),
        "count_include_pad": known.flag(arguments, "count_include_pad", True),
    }
    if arguments.get("divisor_override") is not None:
        options["divisor_override"] = known.integer(arguments, "divisor_override", 1)
    x = _volume(device, arguments, kernel)
    if "norm_type" in arguments:  # LPPool3d: an average of powers
        power = known.number(arguments, "norm_type", 2.0)
        yield _windowed(x, f"norm_type={power}, ", F.lp_pool3d, power, kernel, stride, options["ceil_mode"])
        return
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    yield Experiment(
        f"x {words(x)}, kernel {kernel}, stride {stride}, {told}; backward",
        (x,),
        lambda x: F.avg_pool3d(x, kernel, stride, **options),
        backward=True,
    )


def _windowed(
    x: Tensor, told: str, pool: Pool, power: float, kernel: tuple[int, ...], stride: tuple[int, ...], ceil: bool
) -> Experiment:
    return Experiment(
        f"x {words(x)}, {told}kernel {kernel}, stride {stride}, ceil_mode={ceil}; backward",
        (x,),
        lambda x: pool(x, power, kernel, stride, ceil),
        backward=True,
    )


@probe("max-pool3d", halves=True, channels_last=True)
def max_pool3d(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """With indices only where the site asks for them: it is another kernel under the flag."""
    indices = known.flag(arguments, "return_indices")
    return _max_pool3d(device, arguments, F.max_pool3d_with_indices if indices else F.max_pool3d)


@probe("max-pool3d-native", halves=True)
def max_pool3d_native(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    return _max_pool3d(device, arguments, torch.max_pool3d)


def _max_pool3d(device: torch.device, arguments: Given, pool: Pool) -> Iterator[Experiment]:
    kernel, stride = _windows(arguments, 3)
    padding = known.sizes(arguments, "padding", 0, 3, smallest=0)
    dilation = known.sizes(arguments, "dilation", 1, 3)
    ceil = known.flag(arguments, "ceil_mode")
    x = _volume(device, arguments, tuple(k * d for k, d in zip(kernel, dilation, strict=True)))
    yield Experiment(
        f"x {words(x)}, kernel {kernel}, stride {stride}, padding {padding}, dilation {dilation}, ceil_mode={ceil}; "
        "backward",
        (x,),
        lambda x: pool(x, kernel, stride, padding, dilation, ceil),
        backward=True,
    )


def _fractional(pool: Pool, rank: int) -> Recipe:
    def fractional(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        """With the offsets of the windows as an input, so that nothing is drawn."""
        kernel = known.sizes(arguments, "kernel_size", 3, rank)
        sides = [{2: on(device, 32, 128), 3: on(device, 12, 32)}[rank]] * rank
        if arguments.get("output_size") is not None:  # of an input half as large again, where windows overlap
            sides = [
                n * 3 // 2 + k for n, k in zip(known.sizes(arguments, "output_size", 1, rank), kernel, strict=True)
            ]
        x = _input(device, arguments, *sides)
        output = _fractional_output(arguments, x.shape[2:], rank)
        if any(o + k > side + 1 for o, k, side in zip(output, kernel, x.shape[2:], strict=True)):
            raise Unsupported(f"no probe for kernel_size={kernel} with output_size={output}")
        samples = Draws(device, arguments).uniform(*x.shape[:2], rank)
        yield Experiment(
            f"x {words(x)} to {output}, kernel {kernel}; backward",
            (x, samples),
            lambda x, samples: pool(x, kernel, output, _random_samples=samples),
            backward=True,
        )

    return fractional


def _fractional_output(arguments: Given, sides: Sequence[int], rank: int) -> tuple[int, ...]:
    if arguments.get("output_size") is not None:
        return known.sizes(arguments, "output_size", 1, rank)
    ratio = arguments.get("output_ratio") or 0.7
    ratios = [ratio] * rank if isinstance(ratio, float) else ratio
    if not isinstance(ratios, (list, tuple)) or len(ratios) != rank:
        raise Unsupported(f"no probe for output_ratio={ratio!r}")
    return tuple(max(1, int(side * r)) for side, r in zip(sides, ratios, strict=True))


probe("fractional-max-pool2d", halves=True)(_fractional(F.fractional_max_pool2d, 2))
probe("fractional-max-pool3d", halves=True)(_fractional(F.fractional_max_pool3d, 3))


def _unpooled(pool: Pool, unpool: Pool, rank: int) -> Recipe:
    def max_unpool(device: torch.device, arguments: Given) -> Iterator[Experiment]:
        """Indices of a pooling, which repeat where windows overlap, with other values than those pooled."""
        kernel, stride = _windows(arguments, rank)
        padding = known.sizes(arguments, "padding", 0, rank, smallest=0)
        side = on(device, 16, 64) if rank == 2 else on(device, 6, 24)
        output = tuple((side - 1) * s + k - 2 * p for s, k, p in zip(stride, kernel, padding, strict=True))
        draws = Draws(device, arguments)
        whole = draws.normal(2, planes(device, *output), *output)
        pooled, index = pool(whole, kernel, stride, padding, return_indices=True)
        x = draws.normal(*pooled.shape)
        yield Experiment(
            f"x {words(x)} to {output}, indices of pooling with kernel {kernel}, stride {stride}, padding {padding}",
            (x, index),
            lambda x, index: unpool(x, index, kernel, stride, padding),
        )

    return max_unpool


probe("max-unpool2d")(_unpooled(F.max_pool2d, F.max_unpool2d, 2))
probe("max-unpool3d")(_unpooled(F.max_pool3d, F.max_unpool3d, 3))
