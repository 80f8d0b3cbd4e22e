"""Probes of pooling: windows overlap, and an element's gradient is the sum over the windows that it lies in.

Sums of two numbers are the same in any order: it takes three windows for the order to show, so that inputs are not much
larger than outputs, and their sizes do not divide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.draws import Draws
from torchrepro_lint.verify.probes.registry import Probe, probe
from torchrepro_lint.verify.probes.sizes import on, planes, words

Arguments = Mapping[str, object]
Tensor = torch.Tensor
Pool = Callable[..., Any]

DEFAULT_OUTPUTS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((7,), (256,)),
    2: ((7, 7), (64, 64)),
    3: ((5, 5, 5), (16, 16, 16)),
}


def _input(device: torch.device, *shape: int) -> Tensor:
    return Draws(device).normal(2, planes(device, *shape), *shape, grad=True)


def _grey(device: torch.device, *shape: int) -> Tensor:
    """Of one channel: with few, CUDA gives a plane to several blocks, whose order varies most."""
    return Draws(device).normal(planes(device, *shape), 1, *shape, grad=True)


def _adaptive(pool: Pool, rank: int) -> Probe:
    def adaptive(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
        for output in _output_sizes(arguments, rank):
            yield _pooled(_grey(device, *_uneven(output)), output, pool)
            yield _pooled(_input(device, *_large(output)), output, pool)
            if rank == 1:
                yield _pooled(_grey(device, *_short(output)), output, pool)

    return adaptive


def _pooled(x: Tensor, output: tuple[int, ...], pool: Pool) -> Experiment:
    return Experiment(f"x {words(x)} to {output}; backward", (x,), lambda x: pool(x, output), backward=True)


def _output_sizes(arguments: Arguments, rank: int) -> tuple[tuple[int, ...], ...]:
    """The site's, where None keeps the size of the input; a small and a large one where it says nothing."""
    value = arguments.get("output_size")
    if value is None:
        return DEFAULT_OUTPUTS[rank]
    if isinstance(value, (list, tuple)):
        value = [7 if n is None else n for n in value]
    output = known.sizes({"output_size": value}, "output_size", 1, rank)
    if max(output) > 512:
        raise Unsupported(f"no probe for output_size={value!r}")
    return (output,)


def _uneven(output: tuple[int, ...]) -> tuple[int, ...]:
    """Half as large again and one more: windows of two or three elements that overlap."""
    return tuple(n * 3 // 2 + 1 for n in output)


def _short(output: tuple[int, ...]) -> tuple[int, ...]:
    """A third as large, so that a vector's element lies in three windows and more."""
    return tuple(n // 3 + 1 for n in output)


def _large(output: tuple[int, ...]) -> tuple[int, ...]:
    """Several times as large and one more, as features usually are."""
    times = 8 if len(output) < 3 and max(output) < 64 else 3
    return tuple(times * n + 1 for n in output)


probe("adaptive-avg-pool1d")(_adaptive(F.adaptive_avg_pool1d, 1))
probe("adaptive-avg-pool2d")(_adaptive(F.adaptive_avg_pool2d, 2))
probe("adaptive-avg-pool3d")(_adaptive(F.adaptive_avg_pool3d, 3))
probe("adaptive-max-pool1d")(_adaptive(F.adaptive_max_pool1d, 1))
probe("adaptive-max-pool2d")(_adaptive(F.adaptive_max_pool2d, 2))
probe("adaptive-max-pool3d")(_adaptive(F.adaptive_max_pool3d, 3))


def _windows(arguments: Arguments, rank: int, step: int = 1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Kernel and stride of the site, where no stride means that of the kernel; else windows that overlap."""
    kernel = known.sizes(arguments, "kernel_size", 3, rank)
    stride = known.sizes(arguments, "stride", kernel if "kernel_size" in arguments else step, rank)
    if max(kernel) > 32:
        raise Unsupported(f"no probe for kernel_size={kernel}")
    return kernel, stride


def _volume(device: torch.device, kernel: tuple[int, ...]) -> Tensor:
    return _input(device, *(on(device, 8, 24) + n for n in kernel))


@probe("avg-pool3d")
def avg_pool3d(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """By default with a stride of two: for strides of one CUDA has a kernel that gathers."""
    kernel, stride = _windows(arguments, 3, step=2)
    padding = known.sizes(arguments, "padding", 0, 3, smallest=0)
    x = _volume(device, kernel)
    yield Experiment(
        f"x {words(x)}, kernel {kernel}, stride {stride}, padding {padding}; backward",
        (x,),
        lambda x: F.avg_pool3d(x, kernel, stride, padding),
        backward=True,
    )


@probe("max-pool3d")
def max_pool3d(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """With indices only where the site asks for them: it is another kernel under the flag."""
    indices = known.flag(arguments, "return_indices")
    return _max_pool3d(device, arguments, F.max_pool3d_with_indices if indices else F.max_pool3d)


@probe("max-pool3d-native")
def max_pool3d_native(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    return _max_pool3d(device, arguments, torch.max_pool3d)


def _max_pool3d(device: torch.device, arguments: Arguments, pool: Pool) -> Iterator[Experiment]:
    kernel, stride = _windows(arguments, 3)
    padding = known.sizes(arguments, "padding", 0, 3, smallest=0)
    dilation = known.sizes(arguments, "dilation", 1, 3)
    x = _volume(device, tuple(k * d for k, d in zip(kernel, dilation, strict=True)))
    yield Experiment(
        f"x {words(x)}, kernel {kernel}, stride {stride}, padding {padding}, dilation {dilation}; backward",
        (x,),
        lambda x: pool(x, kernel, stride, padding, dilation),
        backward=True,
    )


def _fractional(pool: Pool, rank: int) -> Probe:
    def fractional(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
        """With the offsets of the windows as an input, so that nothing is drawn."""
        kernel = known.sizes(arguments, "kernel_size", 3, rank)
        side = {2: on(device, 32, 128), 3: on(device, 12, 32)}[rank]
        output = _fractional_output(arguments, side, rank)
        if any(o + k > side + 1 for o, k in zip(output, kernel, strict=True)):
            raise Unsupported(f"no probe for kernel_size={kernel} with output_size={output}")
        x = _input(device, *[side] * rank)
        samples = Draws(device).uniform(*x.shape[:2], rank)
        yield Experiment(
            f"x {words(x)} to {output}, kernel {kernel}; backward",
            (x, samples),
            lambda x, samples: pool(x, kernel, output, _random_samples=samples),
            backward=True,
        )

    return fractional


def _fractional_output(arguments: Arguments, side: int, rank: int) -> tuple[int, ...]:
    if arguments.get("output_size") is not None:
        return known.sizes(arguments, "output_size", 1, rank)
    ratio = arguments.get("output_ratio") or 0.7
    ratios = [ratio] * rank if isinstance(ratio, float) else ratio
    if not isinstance(ratios, (list, tuple)):
        raise Unsupported(f"no probe for output_ratio={ratio!r}")
    return tuple(max(1, int(side * r)) for r in ratios)


probe("fractional-max-pool2d")(_fractional(F.fractional_max_pool2d, 2))
probe("fractional-max-pool3d")(_fractional(F.fractional_max_pool3d, 3))


def _unpooled(pool: Pool, unpool: Pool, rank: int) -> Probe:
    def max_unpool(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
        """Indices of a pooling, which repeat where windows overlap, with other values than those pooled."""
        kernel, stride = _windows(arguments, rank)
        side = on(device, 16, 64) if rank == 2 else on(device, 6, 24)
        output = tuple((side - 1) * s + k for s, k in zip(stride, kernel, strict=True))
        draws = Draws(device)
        pooled, index = pool(draws.normal(2, planes(device, *output), *output), kernel, stride, return_indices=True)
        x = draws.normal(*pooled.shape)
        yield Experiment(
            f"x {words(x)} to {output}, indices of pooling with kernel {kernel}, stride {stride}",
            (x, index),
            lambda x, index: unpool(x, index, kernel, stride),
        )

    return max_unpool


probe("max-unpool2d")(_unpooled(F.max_pool2d, F.max_unpool2d, 2))
probe("max-unpool3d")(_unpooled(F.max_pool3d, F.max_unpool3d, 3))
