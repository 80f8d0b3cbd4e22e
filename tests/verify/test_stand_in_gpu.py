"""Whatever only CUDA reaches, run with real tensors on a stand-in for a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from stand_in_gpu import stand_in  # noqa: E402

from torchrepro_lint.verify import probes, worker  # noqa: E402
from torchrepro_lint.verify.devices import settle, why_no_cuda  # noqa: E402
from torchrepro_lint.verify.environment import manifest  # noqa: E402
from torchrepro_lint.verify.probes.registry import PROBES  # noqa: E402

probes.find("no such probe")
NAMES = sorted(PROBES.keys() - {"nccl"})
NOT_ON_CUDA = {"histogramdd", "resize-quantized"}
DEVICE_CODE = {"fbgemm", "triton-atomics"}  # an operation that a package registers; a kernel that only a GPU runs

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="the real thing runs")


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with stand_in(monkeypatch):
        yield


def answers(name: str, **options: object) -> list[dict[str, object]]:
    request = {"probe": name, "arguments": {}, "device": "cuda", "repeats": 2, "patience": 0.0, "stress": False}
    found: list[dict[str, object]] = []
    worker.answer({**request, **options}, found.append)
    return [answer for answer in found if "going" not in answer]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_probe_is_measured_as_on_cuda(name: str) -> None:
    found = answers(name)
    measured = [answer for answer in found if "measurement" in answer]
    refused = [answer for answer in found if "unsupported" in answer or "missing" in answer]
    assert bool(refused) == (name in NOT_ON_CUDA), refused
    assert bool(measured) or name in NOT_ON_CUDA | DEVICE_CODE | {"flex-attention"}, found
    for answer in found:
        assert "failed" not in answer or name in DEVICE_CODE | {"flex-attention", "sdpa", "sdpa-cudnn"}, answer


def test_half_precision_and_layouts_are_passes_of_their_own() -> None:
    told = [str(a["measurement"]["summary"]) for a in answers("interpolate-bilinear") if "measurement" in a]  # type: ignore[index]
    assert [" channels_last" in words for words in told] == [False, True, False, False]
    assert ["bfloat16" in words for words in told] == [False, False, True, False]
    assert " float16" in told[3]


def test_under_stress() -> None:
    (measured,) = [answer for answer in answers("bincount-unweighted", stress=True) if "measurement" in answer]
    assert measured["measurement"]["default"]["outputs"]  # type: ignore[index]


def test_what_the_gpu_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"Stand-in {index}")
    found = manifest(cuda="cuda:1")
    assert (found["gpu"], found["gpus"], found["compute_capability"]) == ("Stand-in 1", 2, "9.0")
    assert settle(("cuda:1", "cpu"), found["gpu"]) == (["cuda", "cpu"], {})
    assert why_no_cuda("Stand-in", "cuda:2") == "no CUDA device 2 here: there are 2"
