"""What runs a call again and again while a model is trained."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.seeding.repeated import repeated_by

HEAD = """
import torch
from torch import nn
from torch.utils.data import Dataset, Sampler
"""


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("class D(Dataset):\n    def __getitem__(self, i):\n        op()", "sample"),
        ("class S(Sampler):\n    def __iter__(self):\n        op()", "epoch"),
        ("class M(nn.Module):\n    def forward(self, x):\n        op()", "batch"),
        ("def my_collate(x):\n    op()", "batch"),
        ("for epoch in range(3):\n    op()\n    loss.backward()", "epoch"),
        ("while step < 10:\n    op()\n    train_step()", "step"),
        ("def f():\n    op()\nfor epoch in range(3):\n    f()\n    train_one_epoch()", "epoch"),
        ("class ValSet(Dataset):\n    def __getitem__(self, i):\n        op()", None),
        ("def evaluate():\n    op()\nfor epoch in range(3):\n    train()\n    evaluate()", None),
        ("for epoch in range(3):\n    op()\n    show()", None),
        ("for step_size in (1, 2):\n    op()\n    o = torch.optim.SGD(p)\n    loss.backward()", None),
        ("for fold, loader in enumerate(loaders):\n    op()\n    train(loader)", None),
        ("def main():\n    op()\nmain()", None),
    ],
)
def test_what_repeats_a_call(text: str, unit: str | None, tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": HEAD + textwrap.dedent(text)})
    node, scope = project.call("op", "train.py")
    assert repeated_by(node, scope, project.program) == unit
