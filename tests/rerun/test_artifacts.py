"""What a tracer gets wrong that knows too little of memory: each of these once made two equal runs part, or a wrong
operation the cause. Each test has beside it the difference that must still be seen."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.comparing import What, partings  # noqa: E402
from torchrepro_lint.rerun.streams import Streams  # noqa: E402

from .tracing import ROOT, compared, events, traced  # noqa: E402


def test_what_was_in_memory_before_uniform_writes_over_it_is_no_input(tmp_path: Path) -> None:
    garbage = [torch.full((8,), float(number)) for number in range(2)]

    def body(number: int) -> None:
        torch.manual_seed(0)
        garbage[number].uniform_()

    assert compared(tmp_path, body) is None


def test_memory_that_is_read_before_it_was_written_is_no_operation_that_varies(tmp_path: Path) -> None:
    def body(number: int) -> None:
        torch.empty(8).mul_(0).fill_(1)

    parting = compared(tmp_path, body)  # what lies there may happen to be the same
    assert parting is None or (parting.what, parting.flag) == (What.INPUT, "u")
    assert [event.data[5] for event in events(tmp_path / "0") if event.kind == "o" and "mul" in event.data[2]] == ["u"]


def test_a_storage_that_lies_where_a_freed_one_was_is_a_new_one(tmp_path: Path) -> None:
    """Thousands of results come and go; then foreign tensors land where they were, and must count as foreign."""
    with traced(tmp_path) as recorder:
        for _ in range(200):
            torch.ones(64).add(1)
        with recorder.paused():
            foreign = [torch.full((64,), float(number)) for number in range(200)]
        for tensor in foreign:
            tensor.add(1)
    flags = [event.data[5] for event in events(tmp_path) if event.kind == "o" and event.data[2] == "aten::add"]
    assert flags[:200] == ["."] * 200
    assert flags[200:] == ["x"] * 200


def test_a_view_of_a_foreign_tensor_is_as_foreign(tmp_path: Path) -> None:
    def body(number: int) -> None:
        view = outside[number].view(2, 3)
        memory[number][5] = number  # behind the tracer's back
        view[1].add(1)

    memory = [np.arange(6.0), np.arange(6.0)]
    outside = [torch.from_numpy(array) for array in memory]

    parting = compared(tmp_path, body)
    assert parting is not None
    assert (parting.what, parting.flag) == (What.INPUT, "x")


def test_what_lies_in_a_storage_is_no_result_of_the_operation_that_makes_a_tensor_of_it(tmp_path: Path) -> None:
    """As in each copy.deepcopy of a tensor, of memory that nobody has written yet, and in torch.load, of a file."""

    def written_over(number: int) -> None:
        torch.empty(0).set_(storages[number], 0, (4,)).copy_(torch.ones(4))

    def read(number: int) -> None:
        torch.empty(0).set_(storages[number], 0, (4,)).add(1)

    storages = [torch.full((4,), float(number)).untyped_storage() for number in (7, 8)]
    parting = compared(tmp_path / "read", read)
    assert parting is not None
    assert (parting.what, parting.flag, parting.event.data[2]) == (What.INPUT, "x", "aten::add")
    assert compared(tmp_path / "written", written_over) is None


def test_a_deep_copy_is_of_the_programs_own_making(tmp_path: Path) -> None:
    with traced(tmp_path):
        copy.deepcopy(torch.ones(64)).add(1)
    (flags,) = [e.data[5] for e in events(tmp_path) if e.kind == "o" and e.data[2] == "aten::add"]
    assert flags == "."


def test_a_number_among_the_arguments_is_an_input_and_its_effect_no_operation_that_varies(tmp_path: Path) -> None:
    def body(number: int) -> None:
        torch.ones(4).mul(1.5 + number)

    parting = compared(tmp_path, body)
    assert parting is not None
    assert parting.what is What.SCALAR


def test_the_default_generator_is_itself_also_where_it_is_handed_over(tmp_path: Path) -> None:
    """As random_split does: the dispatcher wraps it anew, so that it is another object each time."""
    with traced(tmp_path):
        torch.randperm(4)
        torch.randperm(4, generator=torch.default_generator)
        torch.randperm(4, generator=torch.Generator())
    states = [e.data[8] for e in events(tmp_path) if e.kind == "o" and e.data[2] == "aten::randperm"]
    assert [type(state) for state in states] == [str, str, list]  # a list: the program's own


_LOADER = """
import torch, time, sys
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        time.sleep(0.3 if (index % 2 == 0) == (sys.argv[1] == "even") else 0)
        return torch.full((4,), float(index))
torch.manual_seed(0)
w = torch.nn.Parameter(torch.ones(4))
for batch in DataLoader(Slow(), batch_size=1, num_workers=2):
    (batch * w).sum().backward()
    w.grad = None
"""


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_tensors_that_workers_send_may_arrive_in_any_order(tmp_path: Path) -> None:
    """Worker 0 is slow in one run and worker 1 in the other, so the main process rebuilds tensors in another order."""
    from torchrepro_lint.rerun.launching import run

    (tmp_path / "loader.py").write_text(_LOADER)
    both = []
    for which in ("even", "odd"):
        folder = tmp_path / which
        done = run([sys.executable, "loader.py", which], tmp_path, folder, {"mode": "traced"}, 900)
        assert done.status == 0, done.tail()
        both.append(Streams(done.streams, tmp_path))
    assert partings(*both) == []


_COLLECTIVE = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
work = dist.all_reduce(x := torch.full((1 << 20,), float(dist.get_rank())), async_op=True)
work.wait()
y = x + 1
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(64, 64))
model(torch.ones(4, 64)).sum().backward()
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_the_result_of_a_collective_is_looked_at_when_it_is_there(tmp_path: Path) -> None:
    from torchrepro_lint.rerun.launching import run

    (tmp_path / "ranks.py").write_text(_COLLECTIVE)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "ranks.py"]
    both = []
    for number in range(2):
        done = run(command, tmp_path, tmp_path / str(number), {"mode": "traced"}, 900)
        assert done.status == 0, done.tail()
        both.append(Streams(done.streams, tmp_path))
    assert partings(*both) == []
    operations = [event for _, event in both[0].all("o")]
    assert all(event.data[7] == [] for event in operations if event.data[2].startswith("c10d::"))
    summed = [event for event in operations if event.data[2] == "aten::add" and event.frames]
    assert {event.data[5] for event in summed} == {"w"}  # where the result of the collective is read


def test_a_buffer_given_as_out_is_no_input(tmp_path: Path) -> None:
    """Compiled code allocates its buffers below the dispatcher, and calls external kernels with them as out=."""

    def body(number: int) -> None:
        a = torch.ones(4, 4)
        torch.mm(a, a, out=buffers[number])

    buffers = [torch.full((4, 4), float(number)) for number in range(2)]
    assert compared(tmp_path, body) is None


def test_an_operation_that_varies_is_seen_and_named(tmp_path: Path) -> None:
    library = torch.library.Library("rerun_test", "FRAGMENT")
    library.define("vary(Tensor x, int n) -> Tensor")
    count = iter(range(100))
    library.impl("vary", lambda x, n: x + next(count), "CPU")

    def body(number: int) -> None:
        torch.ops.rerun_test.vary(torch.ones(3), 1).mul(2)

    parting = compared(tmp_path, body)
    assert parting is not None
    assert (parting.what, parting.event.data[2]) == (What.OUTPUT, "rerun_test::vary")
    assert parting.place is not None
    assert parting.place.path == Path(__file__).relative_to(ROOT).as_posix()


def test_a_backward_operation_has_the_line_of_its_forward(tmp_path: Path) -> None:
    with traced(tmp_path):
        weight = torch.nn.Parameter(torch.ones(3))
        product = weight * 2  # the line
        unrelated = torch.zeros(3)
        loss = product.sum() + unrelated.sum()
        loss.backward()
    wanted = next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith("# the line"))
    lines = [e.place.line for e in events(tmp_path) if e.kind == "o" and e.data[2] == "aten::mul" and e.place]
    assert lines == [wanted, wanted]


@pytest.mark.usefixtures("forks")
def test_an_error_in_the_program_shows_no_frame_of_ours(tmp_path: Path) -> None:
    from torchrepro_lint.rerun.launching import run

    (tmp_path / "wrong.py").write_text("import torch\ntorch.ones(2).requires_grad_().backward()\n")
    for mode in ("plain", "traced"):
        done = run([sys.executable, "wrong.py"], tmp_path, tmp_path / mode, {"mode": mode}, 900)
        assert done.status == 1
        assert "wrong.py" in done.tail()
        assert "torchrepro" not in done.tail()
    plain = subprocess.run([sys.executable, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert plain.stderr == done.tail()
