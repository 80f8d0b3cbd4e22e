"""Memory that an operation leaves unwritten, or that PyTorch itself reads before it is written, makes no runs part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchrepro_lint.rerun.inside.operations import operation  # noqa: E402

from .tracing import events, traced  # noqa: E402


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
