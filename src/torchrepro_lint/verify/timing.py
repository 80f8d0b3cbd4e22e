"""How much slower the deterministic path is: interleaved pairs, so that what slows the machine slows both.

On a GPU events are timed on its own clock; on a CPU, the wall clock. Knows trials; not what is done with the number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles

import torch

from torchrepro_lint.verify.devices import module_of
from torchrepro_lint.verify.repeat import deterministic
from torchrepro_lint.verify.results import Slowdown
from torchrepro_lint.verify.trial import Trial

_WARM_UPS = 5
_PAIRS = 20
_LEAST_PAIRS = 5
_CLOSE = 0.05  # of their median: pairs whose middle half lies as close say no more when there are twice as many
RUNS = 2 * (_WARM_UPS + _PAIRS)
"""How often an experiment is run at most, with the flag and without, to compare its speeds."""
_RESOLUTION = 0.0005  # milliseconds that two events of a GPU can tell apart; a kernel may take less

Clock = Callable[[Callable[[], object]], float]
"""Runs something and says how many milliseconds it took."""


def slowdown(trial: Trial, clock: Clock, patience: float) -> Slowdown:
    """Times both paths in turn until the pairs agree, for at most `patience` seconds once there are a few."""
    stop = time.monotonic() + patience
    pairs: list[tuple[float, float]] = []
    for _ in range(_WARM_UPS):
        _timed(trial, clock)
    low, middle, high = 0.0, 0.0, 1.0
    while len(pairs) < _PAIRS and (
        len(pairs) < _LEAST_PAIRS or (time.monotonic() < stop and high - low > _CLOSE * middle)
    ):
        pairs.append(_timed(trial, clock))
        if len(pairs) >= _LEAST_PAIRS:
            low, middle, high = _quartiles(pairs)
    return Slowdown(
        median=middle,
        iqr=(low, high),
        pairs=len(pairs),
        default_ms=median(default for default, _ in pairs),
        deterministic_ms=median(strict for _, strict in pairs),
    )


def _quartiles(pairs: Sequence[tuple[float, float]]) -> list[float]:
    ratios = [max(strict, _RESOLUTION) / max(default, _RESOLUTION) for default, strict in pairs]
    return quantiles(ratios, n=4, method="inclusive")


def clock_of(device: torch.device) -> Clock:
    """The clock that fits a device."""
    return wall_clock if device.type == "cpu" else event_clock(device)


def wall_clock(run: Callable[[], object]) -> float:
    """Milliseconds on the wall clock."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def event_clock(device: torch.device) -> Clock:
    """Milliseconds between two events in the device's current stream."""
    module = module_of(device)

    def timed(run: Callable[[], object]) -> float:
        start, end = (module.Event(enable_timing=True) for _ in range(2))
        module.synchronize()
        start.record()
        run()
        end.record()
        module.synchronize()
        return float(start.elapsed_time(end))

    return timed


def _timed(trial: Trial, clock: Clock) -> tuple[float, float]:
    default = _execution(trial, clock)
    with deterministic():
        return default, _execution(trial, clock)


def _execution(trial: Trial, clock: Clock) -> float:
    inputs = trial.prepared()  # copying is no part of the operation
    return clock(lambda: trial.execute(inputs))
