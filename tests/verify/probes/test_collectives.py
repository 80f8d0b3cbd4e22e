"""Sums over ranks, with gloo on the CPU: all ranks take part, and all are gone afterwards."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.verify import probes  # noqa: E402
from torchrepro_lint.verify.experiment import Unsupported  # noqa: E402
from torchrepro_lint.verify.given import Given  # noqa: E402
from torchrepro_lint.verify.measure import measure  # noqa: E402
from torchrepro_lint.verify.repeat import Effort  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="built without torch.distributed")
CPU = torch.device("cpu")


def drawn(rank: int, count: int) -> torch.Tensor:
    """What the ranks contribute; the first has the experiment's input."""
    return torch.randn(count, generator=torch.Generator().manual_seed(100 + rank))


@pytest.mark.usefixtures("forks")
def test_every_rank_takes_part_in_every_run() -> None:
    probe = probes.find("nccl")
    assert probe is not None
    seen = []
    for experiment in probe(CPU, Given({})):
        (x,) = experiment.inputs
        assert isinstance(x, torch.Tensor)
        total = x + drawn(1, len(x)) + drawn(2, len(x))
        output = experiment.operation(x.clone())
        assert isinstance(output, torch.Tensor)
        assert torch.allclose(output, total[: len(output)], atol=1e-5)
        assert len(output) == (len(x) if "all_reduce" in experiment.summary else len(x) // 3)
        found = measure(experiment, CPU, Effort(5))
        assert found.default.distinct == 1
        assert found.deterministic is not None and len(found.deterministic.outputs) == 5
        seen.append(experiment.summary)
    assert [summary.partition(" ")[0] for summary in seen] == ["all_reduce", "reduce_scatter"]
    assert all("over 3 ranks, gloo" in summary for summary in seen)
    assert not torch.distributed.is_initialized()
    if sys.platform.startswith("linux"):
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
        assert "torchrepro_lint.verify.peer import main" not in listed


def test_one_gpu_has_no_other_to_sum_with(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = probes.find("nccl")
    assert probe is not None
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(Unsupported, match="takes two GPUs, and there is one"):
        next(iter(probe(torch.device("cuda"), Given({}))))


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_several_gpus() -> None:
    probe = probes.find("nccl")
    assert probe is not None
    for experiment in probe(torch.device("cuda"), Given({})):
        assert measure(experiment, torch.device("cuda"), Effort(5)).deterministic is not None
