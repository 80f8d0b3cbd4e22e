"""The arguments of an operation as values that a program can run it with."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels.literals import literals
from torchrepro_lint.kernels.verdicts import verdicts
from torchrepro_lint.model import Property

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

SIZE = 7
"""


def found(folder: Path, text: str) -> list[dict[str, Property]]:
    project = SmallProject(folder, {"train.py": HEAD + textwrap.dedent(text)})
    return [
        literals(v.site, (*v.operation.when, *v.behaviour.when)) for v in verdicts(project.module(), project.program)
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nn.AdaptiveAvgPool2d(7)", {"output_size": 7}),
        ("nn.AdaptiveAvgPool2d((SIZE, None))", {"output_size": [7, None]}),
        ("nn.AdaptiveAvgPool2d(output_size=size)", {}),
        ("[nn.AdaptiveAvgPool2d(size) for size in (1, 2, 3)]", {"output_size": 2}),
        ("nn.Upsample(None, 2.0, 'bilinear')", {"size": None, "scale_factor": 2.0, "mode": "bilinear"}),
        (
            "nn.EmbeddingBag(10, 4, mode='max', device='cuda')",
            {"num_embeddings": 10, "embedding_dim": 4, "mode": "max", "device": "cuda"},
        ),
        ("nn.AvgPool3d(3, 1, padding=float('inf'))", {"kernel_size": 3, "stride": 1}),
        ("nn.AvgPool3d(3, 1, padding=1e999)", {"kernel_size": 3, "stride": 1}),
    ],
)
def test_what_the_call_shows(tmp_path: Path, text: str, wanted: dict[str, Property]) -> None:
    assert found(tmp_path, f"def build(size):\n    return {text}\n") == [wanted]


def test_of_several_values_the_one_that_varies(tmp_path: Path) -> None:
    text = """
    def resize(x, mode="nearest"):
        return F.interpolate(x, scale_factor=2, mode=mode)

    def up(x):
        return resize(resize(x), "bicubic")
    """
    assert found(tmp_path, text) == [{"scale_factor": 2, "mode": "bicubic"}]


def test_what_the_calls_of_a_module_pass(tmp_path: Path) -> None:
    text = """
    class Block(nn.Module):
        def __init__(self):
            self.attention = nn.MultiheadAttention(64, 8)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]
    """
    assert found(tmp_path, text) == [{"embed_dim": 64, "num_heads": 8, "need_weights": False}]
