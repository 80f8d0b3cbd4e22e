"""What only a device reaches: digests in its buffer, its generator, its threads. On the CPU as far as that goes: there
too, PyTorch runs what is nested deeply in backward passes in a thread of its own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.comparing import What, partings  # noqa: E402
from torchrepro_lint.rerun.inside.digests import Digests, Late  # noqa: E402
from torchrepro_lint.rerun.inside.generators import Generators  # noqa: E402
from torchrepro_lint.rerun.inside.recorder import Recorder  # noqa: E402
from torchrepro_lint.rerun.inside.streams import _WAITING, Stream  # noqa: E402
from torchrepro_lint.rerun.inside.tracing import Storages, Tracer  # noqa: E402
from torchrepro_lint.rerun.inside.training import _Steps  # noqa: E402
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


def test_a_long_loop_without_an_optimizer_keeps_few_records_waiting(tmp_path: Path) -> None:
    with traced(tmp_path, digest="multilinear") as recorder:
        x = torch.ones(3)
        for _ in range(_WAITING + 10):
            x.add_(1)
        assert len(recorder.stream._pending) < 20
    assert sum(event.kind == "o" and event.data[2] == "aten::add_" for event in events(tmp_path)) == _WAITING + 10


def test_what_a_graph_captures_is_not_looked_at(tmp_path: Path) -> None:
    """Its operations do not run until it is replayed, and nobody may wait for a device meanwhile."""
    with traced(tmp_path, digest="multilinear") as recorder:
        steps = _Steps(recorder)
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
        torch.ones(3).add(1)
        recorder.is_capturing = lambda: True
        torch.ones(3).mul(2)
        steps.before(optimizer, (), {})
        steps.after(optimizer, (), {})
        recorder.is_capturing = lambda: False
        assert recorder.step == 0
    names = {event.data[2] for event in events(tmp_path) if event.kind == "o"}
    assert "aten::add" in names
    assert "aten::mul" not in names
    assert "step" not in {event.kind for event in events(tmp_path)}


def line_of(mark: str) -> int:
    """The line of this file that ends so."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(mark))


class Nested(torch.autograd.Function):
    """Runs a backward pass in its own, and so on: from the sixty-first on in a thread of PyTorch's."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, depth: int) -> torch.Tensor:
        ctx.depth = depth
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        with torch.enable_grad():
            x = torch.ones(2, requires_grad=True)
            if ctx.depth:
                Nested.apply(x, ctx.depth - 1).sum().backward()
            else:
                x.tan().sum().backward()  # the innermost
        return grad, None


def test_the_backward_pass_is_traced_in_a_thread_of_pytorchs_own(tmp_path: Path) -> None:
    with traced(tmp_path):
        Nested.apply(torch.ones(2, requires_grad=True), 62).sum().backward()
    told = [event for event in events(tmp_path) if event.kind == "o" and event.data[2] in ("aten::tan", "aten::pow")]
    assert [event.thread[:5] for event in told] == ["Dummy"] * 2
    line = next(
        n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith("# the innermost")
    )
    assert [event.place.line for event in told if event.place] == [line] * 2


def test_the_generator_of_a_device_that_is_in_use_has_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder({"folder": str(tmp_path), "mode": "plain"})
    recorder.generators = generators = Generators(recorder)
    generators.watch_states(torch)
    if not torch.cuda.is_available():
        assert generators.state("cuda") == ""  # and none is made by asking
    states = {None: torch.tensor([1]), 1: torch.tensor([2])}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda number=None: states[number])
    before = generators.state("cuda"), generators.state("cuda:1")
    assert len(set(before)) == 2
    states[1] += 1
    assert generators.state("cuda") == before[0]
    assert generators.state("cuda:1") != before[1]


SEEDS = """
import torch
torch.manual_seed(0)
torch.rand(1)
torch.cuda.manual_seed_all(1)
torch.cuda.manual_seed(2)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1)).backward()
optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_what_seeds_a_device_alone_is_a_seed_of_torch_and_no_late_one(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SEEDS)
    done = run([sys.executable, "train.py"], tmp_path, tmp_path / "run", {"mode": "plain"}, 900)
    assert done.status == 0, done.tail()
    told = [event.data for _, event in Streams(done.streams, tmp_path).all("seed")]
    assert [(seed["gen"], seed["call"], seed["value"], seed["drawn"]) for seed in told] == [
        ("torch", "torch.manual_seed", "0", False),
        ("torch", "torch.cuda.manual_seed_all", "1", False),
        ("torch", "torch.cuda.manual_seed", "2", False),
    ]


@pytest.mark.parametrize("device", ["mps", "xpu"])
def test_the_generator_of_another_kind_of_device_is_told_where_an_operation_draws_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    generator = torch.Generator()
    monkeypatch.setattr(torch.xpu, "default_generators", (generator,) if device == "xpu" else ())
    monkeypatch.setattr(torch.mps, "_default_mps_generator", generator if device == "mps" else None)
    there, here = there_on(device), torch.empty(3)
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


def there_on(kind: str) -> torch.Tensor:
    """A tensor that says it is on a device that is not there."""

    class There(torch.Tensor):
        device = torch.device(kind, 0)

    return torch.empty(3).as_subclass(There)


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
        (weight * 2).exp().sum().backward()  # the line
    products = [event for event in events(tmp_path) if event.kind == "o" and event.data[2] == "aten::mul"]
    assert len(products) == 3  # forward, and the backward of exp and of mul
    assert [bool(event.thread) for event in products] == [False, True, True]
    assert [event.place.line for event in products if event.place] == [line_of("# the line")] * 3


@pytest.mark.cuda
@on_cuda
def test_a_graph_can_be_captured_while_operations_are_traced(tmp_path: Path) -> None:
    with traced(tmp_path):
        x = torch.ones(3, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.mul(2)  # a first time outside, as the documentation of graphs says
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x.mul(2)
        x.fill_(3)
        graph.replay()
        y.add(1)
    assert y.tolist() == [6.0] * 3
    names = [event.data[2] for event in events(tmp_path) if event.kind == "o"]
    assert (names.count("aten::mul"), names.count("aten::add")) == (1, 1)


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
