"""Measuring one experiment on the CPU: what varies, what only seems to, and what comes out of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.verify.experiment import Experiment  # noqa: E402
from torchrepro_lint.verify.measure import measure  # noqa: E402
from torchrepro_lint.verify.repeat import Effort, repeat, repeat_deterministically  # noqa: E402
from torchrepro_lint.verify.results import Measurement, from_json, to_json  # noqa: E402
from torchrepro_lint.verify.trial import Trial  # noqa: E402

CPU = torch.device("cpu")
GENERATOR = torch.Generator().manual_seed(0)
INDEX = torch.randint(0, 1000, (100_000,), generator=GENERATOR)
VALUES = torch.randn(100_000, 16, generator=GENERATOR)


def measured(
    operation: Callable[..., object], *inputs: object, repeats: int = 8, backward: bool = False
) -> Measurement:
    return measure(Experiment("x", inputs, operation, backward), CPU, Effort(repeats, patience=20))


@pytest.mark.usefixtures("two_threads")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one thread at a time adds in one order")
@pytest.mark.parametrize("name", ["index_put_", "put_", "getitem backward"])
def test_additions_through_an_index_differ_on_several_threads(name: str) -> None:
    # Many repeats, of which few are made once a difference is seen: on a busy machine the threads seldom meet.
    match name:
        case "index_put_":
            operation, inputs = lambda x, i, v: x.index_put_((i,), v, True), (torch.zeros(1000, 16), INDEX, VALUES)
        case "put_":
            flat = (INDEX[:, None] * 16 + torch.arange(16)).flatten()
            operation, inputs = lambda x, i, v: x.put_(i, v, True), (torch.zeros(16_000), flat, VALUES.flatten())
        case _:
            operation, inputs = lambda x, i: x[i], (torch.randn(1000, 16, requires_grad=True), INDEX)
    experiment = Experiment("x", inputs, operation, backward="backward" in name)
    trial = Trial.of(experiment, CPU)
    found = repeat(trial, Effort(5000, patience=120), lambda: None)
    assert found.difference is not None
    assert found.difference.part == ("gradient of input 1" if experiment.backward else "output")
    assert repeat_deterministically(trial, Effort(3), lambda: None).distinct == 1


@pytest.mark.parametrize(
    "operation",
    [
        torch.nn.functional.dropout,
        torch.bernoulli,
        torch.rand_like,
        lambda x: torch.randperm(1000),
        lambda x: x.clone().uniform_(),
        lambda x: torch.multinomial(x, 10),
    ],
)
def test_random_operations_do_not(operation: Callable[..., object]) -> None:
    assert measured(operation, torch.rand(1000, generator=GENERATOR)).default.distinct == 1


def test_numpy_and_python_draws_do_not() -> None:
    import random

    import numpy as np

    assert measured(lambda x: x + float(np.random.rand()) + random.random(), torch.zeros(2)).default.distinct == 1


def test_inputs_are_the_same_in_every_run_although_the_operation_writes_to_them() -> None:
    found = measured(lambda x: x.add_(1), torch.zeros(4))
    assert found.default.distinct == 1


def test_gradients_do_not_add_up_over_runs() -> None:
    x = torch.ones(4, requires_grad=True)
    found = measured(lambda x: x * 2, x, backward=True)
    assert found.default.distinct == 1
    assert x.grad is None


def test_the_upstream_gradient_is_random_and_the_same_in_every_run() -> None:
    experiment = Experiment("x", (torch.ones(64, requires_grad=True),), lambda x: x * 1, backward=True)
    one, other = Trial.of(experiment, CPU), Trial.of(experiment, CPU)
    (upstream,) = one.upstream
    assert len(upstream.unique()) == 64
    assert torch.equal(upstream, other.upstream[0])
    assert one.inputs == other.inputs


def test_a_sign_of_zero_and_a_payload_of_nan_are_differences() -> None:
    state = {"runs": 0}

    def flips(x: torch.Tensor) -> torch.Tensor:
        state["runs"] += 1
        return -x if state["runs"] % 2 else x

    assert measured(flips, torch.zeros(4)).default.distinct == 2
    nan = torch.tensor([0x7FC00000], dtype=torch.int32).view(torch.float32)
    assert measured(flips, nan).default.distinct == 2


def test_a_permutation_is_a_difference() -> None:
    state = {"runs": 0}

    def turns(x: torch.Tensor) -> torch.Tensor:
        state["runs"] += 1
        return x.flip(0) if state["runs"] % 2 else x + 0

    found = measured(turns, torch.arange(4.0))
    assert found.default.distinct == 2
    assert found.default.difference is not None and found.default.difference.fraction == 1.0


def test_the_flags_are_left_as_they_were() -> None:
    measured(lambda x: x * 2, torch.ones(2))
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("operation", [lambda x: (x, [x * 2, {"a": x + 1}]), lambda x: None])
def test_outputs_of_any_shape(operation: Callable[..., object]) -> None:
    assert measured(operation, torch.ones(3)).default.distinct == 1


def test_sparse_gradients() -> None:
    def looked_up(weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(torch.tensor([1, 1, 2]), weight, sparse=True)

    assert measured(looked_up, torch.randn(4, 2, requires_grad=True), backward=True).default.distinct == 1


def test_an_alert_of_the_cpu() -> None:
    found = measured(lambda x, i, v: x.put_(i, v), torch.zeros(8), torch.arange(4), torch.ones(4))
    assert found.deterministic is not None
    assert found.deterministic.alert == "put_ does not have a deterministic implementation"


def test_repeating_stops_when_it_takes_too_long() -> None:
    found = measure(Experiment("x", (torch.ones(2),), lambda x: x * 2), CPU, Effort(10_000, patience=0))
    assert len(found.default.outputs) == 3


def test_kernels_that_the_flag_compiles_cost_no_repeats() -> None:
    state = {"compiled": False}

    def compiles(x: torch.Tensor) -> torch.Tensor:
        if torch.are_deterministic_algorithms_enabled() and not state["compiled"]:
            state["compiled"] = True
            time.sleep(1.1)
        return x * 2

    found = measure(Experiment("x", (torch.ones(2),), compiles), CPU, Effort(8, patience=1))
    assert found.deterministic is not None
    assert len(found.deterministic.outputs) == 8


def test_what_the_flag_does_to_the_compiler_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    if not hasattr(config, "deterministic"):
        pytest.skip("this PyTorch's compiler does not know the flag")
    monkeypatch.setattr(config, "deterministic", True)  # as TORCHINDUCTOR_DETERMINISTIC=1 does
    measured(lambda x: x * 2, torch.ones(2))
    assert config.deterministic


def test_a_proven_difference_needs_no_more_repeats() -> None:
    state = {"runs": 0}

    def counts(x: torch.Tensor) -> torch.Tensor:
        state["runs"] += 1
        return x + state["runs"]

    found = measured(counts, torch.zeros(2), repeats=300)
    assert (len(found.default.outputs), found.default.first_difference) == (20, 2)


def test_under_stress() -> None:
    found = measure(Experiment("x", (torch.ones(2),), lambda x: x * 2), CPU, Effort(5), stressed=True)
    assert found.default.distinct == 1


def test_a_measurement_survives_the_pipe() -> None:
    found = measured(lambda x: x + torch.empty(0).sum(), torch.ones(2))
    import json

    assert from_json(json.loads(json.dumps(to_json(found)))) == found
