"""Memory that an operation leaves unwritten, or that PyTorch itself reads before it is written, makes no runs part."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.comparing import What  # noqa: E402
from torchrepro_lint.rerun.inside.operations import operation  # noqa: E402
from torchrepro_lint.rerun.judging import suspects  # noqa: E402
from torchrepro_lint.rerun.results import Kind  # noqa: E402
from torchrepro_lint.rerun.streams import Streams  # noqa: E402

from .tracing import ROOT, compared, events, traced  # noqa: E402

UNWRITTEN: dict[str, Callable[[], torch.Tensor]] = {
    "empty": lambda: torch.empty(4, 2),
    "FloatTensor": lambda: torch.FloatTensor(4, 2),
    "Tensor": lambda: torch.Tensor(4, 2),
    "new": lambda: torch.ones(1).new(4, 2),
}
COPIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "clone": torch.Tensor.clone,
    "to another dtype": lambda x: x.to(torch.float64),
    "to a device": lambda x: x.to("cpu", copy=True),
    "contiguous": lambda x: x.t().contiguous(),
    "copy_": lambda x: torch.ones(4, 2).copy_(x),
    "deepcopy": copy.deepcopy,
    "share_memory_": lambda x: x.share_memory_().view(2, 4),
}


def holding(made: torch.Tensor, number: int) -> torch.Tensor:
    """The tensor, in whose memory something lies that nothing has written there."""
    made.numpy()[:] = number  # behind the tracer's back
    return made


def test_the_workspace_of_a_recurrent_layer_is_no_result(tmp_path: Path) -> None:
    with traced(tmp_path):
        lstm = torch.nn.LSTM(4, 4)
        lstm(torch.ones(3, 2, 4))[0].sum().backward()
    told = [event.data for event in events(tmp_path) if event.kind == "o" and "mkldnn_rnn_layer" in event.data[2]]
    if not told:
        pytest.skip("this PyTorch has no oneDNN")
    forward, backward = told
    assert len(forward[7]) == 3  # output, and the two states: not the workspace
    assert backward[5].count("u") == 1  # it is what the backward pass reads


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("made", UNWRITTEN)
def test_a_copy_of_unwritten_memory_is_as_unwritten(tmp_path: Path, made: str, way: str) -> None:
    def body(number: int) -> None:
        COPIES[way](holding(UNWRITTEN[made](), number)).fill_(3).add(1)

    assert compared(tmp_path, body) is None


@pytest.mark.parametrize("way", sorted({*COPIES} - {"share_memory_"}))  # there, another process may have written
def test_what_reads_a_copy_of_unwritten_memory_reads_what_nothing_has_written(tmp_path: Path, way: str) -> None:
    def body(number: int) -> None:
        COPIES[way](holding(torch.FloatTensor(4, 2), number)).add(1)

    parting = compared(tmp_path, body)
    assert parting is not None
    assert (parting.what, parting.flag, parting.event.data[2]) == (What.INPUT, "u", "aten::add")
    (suspect,) = suspects((Streams(tmp_path / "0", ROOT), Streams(tmp_path / "1", ROOT)), parting, ("time",))
    assert suspect.cause.kind is Kind.EXTERNAL
    assert suspect.cause.detail == "aten::add reads memory that nothing has written"


def test_unwritten_memory_in_a_part_of_a_tensor_is_told_where_it_is_copied_there(tmp_path: Path) -> None:
    def body(number: int) -> None:
        whole = torch.ones(8, 2)
        whole[:4].copy_(holding(torch.empty(4, 2), number))
        whole.add(1)

    parting = compared(tmp_path, body)
    assert parting is not None
    assert (parting.what, parting.flag, parting.event.data[2]) == (What.INPUT, "u", "aten::copy_")


def test_a_tensor_without_a_storage_is_copied_like_any_other(tmp_path: Path) -> None:
    with traced(tmp_path):
        torch.eye(3).to_sparse().clone().mul(2)
    names = [event.data[2] for event in events(tmp_path) if event.kind == "o"]
    assert {"aten::clone", "aten::mul"} <= {*names}


def test_memory_that_processes_share_may_have_been_written_by_another(tmp_path: Path) -> None:
    def body(number: int) -> None:
        holding(torch.empty(4, 2).share_memory_(), number).add(1)

    parting = compared(tmp_path, body)
    assert parting is not None
    assert (parting.what, parting.flag, parting.event.data[2]) == (What.INPUT, "s", "aten::add")


@pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")
def test_the_buffers_of_sharded_parameters_belong_to_their_collectives() -> None:
    import torch.distributed.fsdp

    assert operation(torch.ops.fsdp.all_gather_copy_in.default).collective
    assert not operation(torch.ops.aten.add.Tensor).collective


@pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")
def test_what_a_collective_fills_is_no_input_of_it() -> None:
    import torch.distributed.fsdp

    def reads(overload: Any) -> list[str]:
        arguments = zip(overload._schema.arguments, operation(overload).reads, strict=True)
        return [argument.name for argument, is_read in arguments if is_read and "Tensor" in str(argument.type)]

    assert reads(torch.ops.c10d._allgather_base_.default) == ["input_tensor"]
    assert reads(torch.ops.c10d.reduce_scatter_.default) == ["input_tensors"]
    assert reads(torch.ops.c10d.recv_.default) == []
    assert reads(torch.ops.c10d.allreduce_.default)[:1] == ["tensors"]
    assert reads(torch.ops.fsdp.all_gather_copy_in.default) == ["all_gather_inputs"]
    assert reads(torch.ops.fsdp.split_with_sizes_copy.default) == ["all_gather_output"]
