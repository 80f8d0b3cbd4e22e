"""What runs on a GPU alone: events, streams, buffers. On a CPU as far as PyTorch offers the same there."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.verify.experiment import Experiment  # noqa: E402
from torchrepro_lint.verify.measure import measure  # noqa: E402
from torchrepro_lint.verify.random_state import RandomState  # noqa: E402
from torchrepro_lint.verify.repeat import Effort  # noqa: E402
from torchrepro_lint.verify.stress import jitter, stress  # noqa: E402
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
    assert flags == [False, True] * (3 + 5)
    assert found.iqr[0] <= found.median <= found.iqr[1]


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
