"""What runs on a GPU alone: events, streams, generators. Without one, `torch.cuda` is stood in for by a module that
keeps a log and takes what the real functions take, so that the order of the calls and their arguments are seen.
"""

from __future__ import annotations

import inspect
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.verify.experiment import Experiment  # noqa: E402
from torchrepro_lint.verify.measure import measure  # noqa: E402
from torchrepro_lint.verify.random_state import RandomState  # noqa: E402
from torchrepro_lint.verify.repeat import Effort  # noqa: E402
from torchrepro_lint.verify.stress import jitter, products, stress  # noqa: E402
from torchrepro_lint.verify.timing import clock_of, slowdown, wall_clock  # noqa: E402
from torchrepro_lint.verify.trial import Trial  # noqa: E402


def test_the_clock_of_a_cpu_is_the_wall() -> None:
    assert clock_of(torch.device("cpu")) is wall_clock
    assert wall_clock(lambda: sum(range(100_000))) > 0


def test_pairs_are_timed_in_turn() -> None:
    flags: list[bool] = []

    def operation(x: torch.Tensor) -> torch.Tensor:
        flags.append(torch.are_deterministic_algorithms_enabled())
        return x * 2

    device = torch.device("cpu")
    trial = Trial.of(Experiment("x", (torch.ones(2),), operation), device)
    flags.clear()
    found = slowdown(trial, clock_of(device), patience=0)
    assert found.pairs == 5
    assert flags == [False, True] * (5 + 5)
    assert found.iqr[0] <= found.median <= found.iqr[1]


@pytest.mark.parametrize(("times", "pairs"), [([1.0, 2.0], 5), ([1.0, 2.0, 1.0, 4.0, 1.0, 9.0], 20)])
def test_pairs_that_agree_are_enough(times: list[float], pairs: int) -> None:
    trial = Trial.of(Experiment("x", (torch.ones(2),), lambda x: x * 2), torch.device("cpu"))
    clock = cycle(times)
    assert slowdown(trial, lambda run: next(clock), patience=60).pairs == pairs


def test_jitter_waits_for_another_time_before_each_run() -> None:
    waits: list[int] = []
    wait = jitter(waits.append)
    for _ in range(20):
        wait()
    assert len(set(waits)) > 10
    assert all(0 <= cycles < 1_000_000 for cycles in waits)


def test_stress_draws_nothing_that_is_measured() -> None:
    before = torch.get_rng_state()
    with stress(torch.device("cpu")) as ahead:
        ahead()
    assert torch.equal(before, torch.get_rng_state())


def test_random_state_is_put_back() -> None:
    state = RandomState.now(torch.device("cpu"))
    first = torch.rand(3)
    state.restore()
    assert torch.equal(first, torch.rand(3))


class Gpu:
    """A device of which a log is kept; a millisecond passes there with every product."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.milliseconds = 0.0
        gpu = self

        class Event:
            def __init__(self, **options: bool) -> None:
                inspect.signature(torch.cuda.Event.__new__).bind(type(self), **options)
                assert options == {"enable_timing": True}
                self.at = math.nan

            def record(self) -> None:
                self.at = gpu.milliseconds
                gpu.log.append("record")

            def elapsed_time(self, end: Event) -> float:
                gpu.log.append("elapsed")
                return end.at - self.at

        class Stream:
            def __init__(self, **options: int) -> None:
                inspect.signature(torch.cuda.Stream.__new__).bind(type(self), **options)
                gpu.log.append(f"stream {options['priority']}")

            def synchronize(self) -> None:
                gpu.log.append("stream synchronized")

        self.Event, self.Stream = Event, Stream

    def run(self) -> None:
        self.milliseconds += 1
        self.log.append("run")

    def synchronize(self) -> None:
        self.log.append("synchronized")

    @contextmanager
    def stream(self, stream: object) -> Iterator[None]:
        self.log.append("enter")
        yield
        self.log.append("leave")

    def get_rng_state(self, *given: object) -> torch.Tensor:
        inspect.signature(torch.cuda.get_rng_state).bind(*given)
        return torch.tensor([self.milliseconds])

    def set_rng_state(self, *given: object) -> None:
        named = inspect.signature(torch.cuda.set_rng_state).bind(*given).arguments
        self.log.append(f"state {named['new_state'].item()} of {named['device']}")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu()
    for module in ("timing", "stress", "random_state"):
        monkeypatch.setattr(f"torchrepro_lint.verify.{module}.module_of", lambda device: gpu)
    return gpu


def test_events_are_timed_once_the_device_is_idle_and_read_once_it_is_done(gpu: Gpu) -> None:
    assert clock_of(torch.device("cuda"))(gpu.run) == 1.0
    assert gpu.log == ["synchronized", "record", "run", "record", "synchronized", "elapsed"]


def test_what_takes_no_time_on_the_clock_of_a_gpu_is_timed(gpu: Gpu) -> None:
    trial = Trial.of(Experiment("x", (torch.ones(2),), lambda x: x), torch.device("cpu"))
    assert slowdown(trial, clock_of(torch.device("cuda")), patience=0).median == 1.0


def test_products_run_in_a_stream_of_their_own_that_is_waited_for(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "mm", lambda one, other: gpu.run())
    multiply = products(torch.device("cpu"), -1)
    assert gpu.log == ["stream -1", "enter", "leave"]  # made where they are used
    gpu.log.clear()
    multiply()
    assert gpu.log == ["enter", *["run"] * 4, "leave", "stream synchronized"]


def test_the_generator_of_a_device_is_put_back(gpu: Gpu) -> None:
    state = RandomState.now(torch.device("meta"))
    gpu.run()
    state.restore()
    assert gpu.log == ["run", "state 0.0 of meta"]


@pytest.mark.parametrize(
    ("release", "value", "wanted"),
    [
        ("2.9.1+cu128", None, ":4096:8"),
        ("2.9.1", ":16:8", ":16:8"),
        ("2.10.0a0+git1", None, None),
        ("2.13.0", None, None),
    ],
)
def test_cublas_is_settled_before_pytorch_is_imported(release: str, value: str | None, wanted: str | None) -> None:
    script = (
        "import os, sys\nfrom importlib import metadata\n"
        f"metadata.version = lambda package: {release!r}\n"
        "from torchrepro_lint.verify import worker\nworker._settle_cublas()\n"
        "print(os.environ.get('CUBLAS_WORKSPACE_CONFIG'), 'torch' in sys.modules)"
    )
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": value or ""}
    if value is None:
        del environment["CUBLAS_WORKSPACE_CONFIG"]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == f"{wanted} False\n"


@pytest.mark.cuda
def test_additions_through_an_index_differ_on_a_gpu() -> None:
    device = torch.device("cuda")
    generator = torch.Generator(device=device).manual_seed(0)
    index = torch.randint(0, 100, (1_000_000,), generator=generator, device=device)
    source = torch.randn(1_000_000, generator=generator, device=device)
    experiment = Experiment("x", (torch.zeros(100, device=device), index, source), lambda x, i, s: x.index_add(0, i, s))
    found = measure(experiment, device, Effort())
    assert found.default.distinct > 1
    assert found.deterministic is not None and found.deterministic.distinct == 1
    assert found.slowdown is not None and found.slowdown.default_ms > 0


@pytest.mark.cuda
def test_random_operations_do_not_differ_on_a_gpu() -> None:
    device = torch.device("cuda")
    experiment = Experiment(
        "x", (torch.ones(10_000, device=device, requires_grad=True),), torch.nn.functional.dropout, True
    )
    assert measure(experiment, device, Effort()).default.distinct == 1


@pytest.mark.cuda
def test_stress_on_a_gpu() -> None:
    device = torch.device("cuda")
    experiment = Experiment("x", (torch.ones(100, device=device),), lambda x: x * 2)
    assert measure(experiment, device, Effort(5), stressed=True).default.distinct == 1
