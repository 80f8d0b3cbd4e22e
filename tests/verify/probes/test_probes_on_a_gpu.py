"""The probes as a GPU runs them: on one where there is one, else with tensors that have shapes and a device only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from torchrepro_lint.verify.experiment import Missing, Unsupported
from torchrepro_lint.verify.failures import of_kernel
from torchrepro_lint.verify.given import Given

torch = pytest.importorskip("torch")

from torchrepro_lint.verify import probes  # noqa: E402
from torchrepro_lint.verify.estimate import planned  # noqa: E402
from torchrepro_lint.verify.probes.inputs import Draws  # noqa: E402
from torchrepro_lint.verify.probes.registry import PROBES  # noqa: E402

probes.find("no such probe")  # reads every family
NAMES = sorted(PROBES.keys() - {"nccl"})  # whose other ranks are processes
ONE_HALF = ("reduced-precision", "flex-attention")  # tried in one of the two types: the latter is compiled for each
MIB = 2**20


def tensors(value: object) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


def size(value: object) -> float:
    """In MiB."""
    return sum(t.numel() * t.element_size() for t in tensors(value)) / MIB


@cache
def plan(name: str) -> list[dict[str, Any]] | str:
    """What is planned for a probe on a GPU, or why nothing is."""
    try:
        return list(planned(PROBES[name], torch.device("cuda"), Given({}), 20))
    except (Unsupported, Missing) as reason:
        return str(reason)


@pytest.fixture
def no_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """For devices that cannot draw."""

    def without_generator(self: Draws, device: Any, given: Any = None) -> None:
        self.device, self.generator, self._given = device, None, Given({}) if given is None else given  # type: ignore[assignment]

    monkeypatch.setattr(Draws, "__init__", without_generator)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the real thing runs")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_sizes(name: str) -> None:
    """As a plan asks for them, which needs no GPU, nor a PyTorch that could use one."""
    found = plan(name)
    if isinstance(found, str):
        pytest.skip(found)
    assert found
    assert max(item["bytes"] for item in found) < 1024 * MIB
    told = " ".join(item["summary"] for item in found)
    assert (" float16" in told) == (" bfloat16" in told) or name in ONE_HALF


def test_the_whole_table_takes_seven_minutes_at_most() -> None:
    seconds = compiled = 0.0
    for name in NAMES:
        found = plan(name)
        if isinstance(found, str):
            continue
        seconds += sum(item["seconds"] for item in found)
        compiled += sum(item["compiles"] for item in found)
    assert 3 * (8.0 + seconds) + 30.0 * max(compiled, 4) < 420


@pytest.mark.skipif(torch.cuda.is_available(), reason="the real thing runs")
@pytest.mark.usefixtures("no_generator")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_inputs_as_large_as_on_a_gpu(name: str) -> None:
    """On a device of shapes alone, for which probes take a GPU's sizes, and which has gradients without being there."""
    try:
        for experiment in PROBES[name](torch.device("meta"), {}):
            inputs = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors(experiment.inputs)]
            outputs = list(tensors(experiment.operation(*inputs)))
            smooth = [t for t in outputs if t.requires_grad]
            assert bool(smooth) == experiment.backward, experiment.summary
            torch.autograd.backward(smooth, [torch.randn_like(t) for t in smooth])
            gradients = [t.grad for t in inputs if t.grad is not None]
            assert bool(gradients) == experiment.backward, experiment.summary
            assert size(inputs) + size(outputs) + size(gradients) < 300, experiment.summary
    except (Unsupported, Missing) as reason:
        pytest.skip(str(reason))
    except NotImplementedError:
        pytest.skip("has no kernel for shapes alone")
    except RuntimeError as error:
        if "cannot repeat_interleave a meta tensor" in str(error):
            pytest.skip("the size of the output depends on values")
        raise


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_on_a_gpu(name: str) -> None:
    try:
        for experiment in PROBES[name](torch.device("cuda"), {}):
            torch.cuda.reset_peak_memory_stats()
            inputs = [t.detach().clone().requires_grad_(t.requires_grad) for t in tensors(experiment.inputs)]
            try:
                outputs = list(tensors(experiment.operation(*inputs)))
                if experiment.backward:
                    smooth = [t for t in outputs if t.requires_grad]
                    torch.autograd.backward(smooth, [torch.randn_like(t) for t in smooth])
            except RuntimeError as error:
                if experiment.optional and of_kernel(error):
                    continue
                raise
            used = (*inputs, *outputs, *(t.grad for t in inputs if t.grad is not None))
            assert {t.device.type for t in used} == {"cuda"}
            assert all(t.isfinite().all() for t in used if t.is_floating_point()), experiment.summary
            assert torch.cuda.max_memory_allocated() < 2048 * MIB, experiment.summary
    except (Unsupported, Missing) as reason:
        pytest.skip(str(reason))
