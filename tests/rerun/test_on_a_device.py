"""What only a device reaches: digests in its buffer, its generator, its threads. On the CPU as far as that goes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from torchrepro_lint.rerun.comparing import What, partings  # noqa: E402
from torchrepro_lint.rerun.inside.digests import Digests, Late  # noqa: E402
from torchrepro_lint.rerun.inside.generators import Generators  # noqa: E402
from torchrepro_lint.rerun.inside.recorder import Recorder  # noqa: E402
from torchrepro_lint.rerun.inside.streams import Stream  # noqa: E402
from torchrepro_lint.rerun.inside.tracing import Storages, Tracer  # noqa: E402
from torchrepro_lint.rerun.judging import suspects  # noqa: E402
from torchrepro_lint.rerun.launching import run  # noqa: E402
from torchrepro_lint.rerun.results import Kind  # noqa: E402
from torchrepro_lint.rerun.streams import Streams  # noqa: E402

from .tracing import ROOT, events, traced  # noqa: E402

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def train(folder: Path, seed: int, device: str = "cpu") -> Streams:
    """A traced step whose digests wait in the device's buffer until the step is over."""
    with traced(folder, digest="multilinear") as recorder:
        torch.manual_seed(seed)
        weight = torch.nn.Parameter(torch.ones(8, device=device))
        loss = (weight * torch.randn(8, device=device)).relu().sum()
        with recorder.paused():
            recorder.note("loss", d=recorder.digests.many([loss]), v=recorder.digests.number(loss))
        loss.backward()
        assert not list(folder.glob("*.jsonl"))  # nobody has waited for the device
        with recorder.paused():
            recorder.stream.flush()
    return Streams(folder, ROOT)


def test_digests_of_a_device_are_compared_like_any_others(tmp_path: Path) -> None:
    one, same, other = [train(tmp_path / str(n), seed) for n, seed in enumerate((0, 0, 1))]
    assert one.head("main")["digest"] == "multilinear"
    assert partings(one, same) == []
    (parting,) = partings(one, other)
    assert (parting.what, parting.event.data[2]) == (What.STATE, "aten::randn")
    (loss,) = (event for event in one.events("main") if event.kind == "loss")
    assert isinstance(loss.data["v"], float)


def test_the_generator_of_a_device_that_is_in_use_has_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder({"folder": str(tmp_path), "mode": "plain"})
    recorder.generators = generators = Generators(recorder)
    with monkeypatch.context() as patch:
        for name in ("manual_seed", "seed", "set_rng_state"):  # they are wrapped: put back what was there
            patch.setattr(torch, name, getattr(torch, name))
            patch.setattr(torch.random, name, getattr(torch.random, name))
        generators.watch_torch(torch)
        if not torch.cuda.is_available():
            assert generators.state("cuda") == ""  # and none is made by asking
        patch.setattr(torch.cuda, "is_initialized", lambda: True)
        patch.setattr(torch.cuda, "get_rng_state", torch.get_rng_state)
        torch.manual_seed(0)
        before = generators.state("cuda")
        torch.rand(1)
        assert before
        assert generators.state("cuda") != before


@pytest.mark.parametrize("device", ["mps", "xpu"])
def test_the_generator_of_another_kind_of_device_is_told_where_an_operation_draws_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    generator = torch.Generator()
    monkeypatch.setattr(torch.xpu, "default_generators", (generator,) if device == "xpu" else ())
    monkeypatch.setattr(torch.mps, "_default_mps_generator", generator if device == "mps" else None)
    there, here = fake(device), torch.empty(3)
    with traced(tmp_path) as recorder:
        tracer = Tracer(recorder, Storages())
        torch.randperm(4, generator=generator)
        assert tracer._generator_state([there], {}) == ""  # and the host's is not taken for it
        monkeypatch.setattr(recorder.generators, "state", lambda name: f"of {name}")
        assert tracer._generator_state([there], {}) == f"of {device}:0"
        assert tracer._generator_state([here], {"device": torch.device(device)}) == f"of {device}"
        assert tracer._generator_state([3], {"device": torch.device(device, 1)}) == f"of {device}:1"
        assert tracer._generator_state([here], {"device": None}) == "of torch"
    (state,) = (event.data[8] for event in events(tmp_path) if event.kind == "o")
    assert isinstance(state, str)  # a list: the program's own


def fake(device: str) -> torch.Tensor:
    """A tensor that says it is on a device that is not there."""
    with FakeTensorMode():
        return torch.empty(3, device=device)


@pytest.mark.parametrize("device", ["cuda", "mps", "xpu"])
def test_a_device_whose_generator_differs_is_an_unseeded_torch(tmp_path: Path, device: str) -> None:
    """torch.manual_seed seeds every device: so it is what pins their generators."""
    one, other = (stepped(tmp_path / state, {"torch": "same", device: state}) for state in ("one", "other"))
    suspect, *_ = suspects((one, other), partings(one, other)[0], ())
    assert (suspect.cause.kind, suspect.cause.generator, suspect.pin) == (Kind.UNSEEDED, "torch", "torch")


def stepped(folder: Path, states: dict[str, str]) -> Streams:
    """A run of one step whose loss is that of the states."""
    folder.mkdir()
    stream = Stream(str(folder), {"digest": "xxh3", "mode": "plain"})
    stream.write({"k": "loss", "step": 0, "site": 0, "call": "backward", "d": str(states), "v": 1.0})
    stream.write({"k": "step", "step": 0, "site": 0, "grads": None, "params": None, "rng": states})
    stream.write({"k": "end"})
    stream.flush()
    return Streams(folder, ROOT)


_PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.ones(8, 8), batch_size=4):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_a_whole_program_is_observed_by_way_of_the_buffer(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_PROGRAM)
    both = []
    for number in range(2):
        settings = {"mode": "traced", "digest": "multilinear"}
        done = run([sys.executable, "train.py"], tmp_path, tmp_path / str(number), settings, 900)
        assert done.status == 0, done.tail()
        both.append(Streams(done.streams, tmp_path))
    assert {event.kind for event in both[0].events("main")} >= {"batch", "loss", "step", "o", "end"}
    (parting,) = partings(*both)
    assert (parting.what, parting.event.data[2], str(parting.place)) == (What.STATE, "aten::uniform_", "train.py:3")


@pytest.mark.cuda
@on_cuda
def test_the_backward_pass_on_cuda_is_traced_though_a_thread_of_its_own_runs_it(tmp_path: Path) -> None:
    with traced(tmp_path):
        weight = torch.nn.Parameter(torch.ones(3, device="cuda"))
        (weight * 2).exp().sum().backward()
    names = [event.data[2] for event in events(tmp_path) if event.kind == "o"]
    assert names.count("aten::mul") >= 3  # forward, and the backward of exp and of mul
    places = [event.place for event in events(tmp_path) if event.kind == "o" and event.data[2] == "aten::mul"]
    assert {place.path for place in places if place} == {Path(__file__).relative_to(ROOT).as_posix()}


@pytest.mark.cuda
@on_cuda
def test_equal_runs_on_cuda_agree_and_others_do_not(tmp_path: Path) -> None:
    one, same, other = [train(tmp_path / str(n), seed, "cuda") for n, seed in enumerate((0, 0, 1))]
    assert partings(one, same) == []
    assert partings(one, other)[0].what is What.STATE


@pytest.mark.cuda
@on_cuda
def test_a_buffered_digest_costs_less_than_asking_for_each() -> None:
    digests = Digests()
    tensors = [torch.randn(10_000, device="cuda") for _ in range(500)]

    def seconds(each: bool) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for tensor in tensors:
            late = digests.tensor(tensor)
            assert isinstance(late, Late)
            if each:
                digests.resolve()  # what .item() does: the host waits
        digests.resolve()
        return time.perf_counter() - began

    seconds(False)
    assert min(seconds(False) for _ in range(3)) < min(seconds(True) for _ in range(3))
