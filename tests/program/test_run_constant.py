"""Expressions that keep their value for as long as a process runs, and those that may change."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.run_constant import RunConstant

HEAD = """
import os
import torch
from torch.utils.data import get_worker_info
"""


def keeps(folder: Path, text: str) -> bool:
    """Whether the argument of the only `op(...)` keeps its value."""
    project = SmallProject(folder, {"train.py": HEAD + textwrap.dedent(text)})
    node, scope = project.call("op", "train.py")
    return RunConstant(project.program).keeps(node.args[0], scope)


KEPT = {
    "number": "op(7)",
    "sum": "SEED = 7\ndef f():\n    op(SEED + 2 * 3)",
    "one after the other": "seed = 1\nseed = seed + 1\nop(seed)",
    "option": "def f(args):\n    op(int(args.seed))",
    "key": "def f(cfg):\n    op(cfg['train_seed'])",
    "rank": "op(7 + torch.distributed.get_rank())",
    "environment": "op(int(os.environ['RANK']))",
    "worker": "def f(_):\n    op(get_worker_info().id)",
    "parameter": "def f(number):\n    op(number)\nf(3)\nf(4)",
    "constructor": """
        class Data:
            def __init__(self, seed):
                self.seed = seed
            def f(self):
                op(self.seed)
        """,
}
CHANGED = {
    "loop": "for i in range(3):\n    op(i)",
    "step": "def f(step):\n    op(step)",
    "itself": "seed = 1\nwhile True:\n    seed = seed + 1\n    op(seed)",
    "counted": "seed = 1\nseed += 1\nop(seed)",
    "draw": "op(torch.initial_seed())",
    "worker's seed": "def f(_):\n    op(get_worker_info().seed)",
    "options of a loop": "def f(runs):\n    for run in runs:\n        op(run.seed)",
    "epoch": "class A:\n    epoch = 0\n    def f(self):\n        op(self.epoch)",
    "one caller": "def f(seed):\n    op(seed)\nf(3)\nf(torch.initial_seed())",
    "set elsewhere": """
        class Data:
            def __init__(self, seed):
                self.seed = seed
            def advance(self):
                self.seed += 1
            def f(self):
                op(self.seed)
        """,
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_keeps_its_value(text: str, tmp_path: Path) -> None:
    assert keeps(tmp_path, text)


@pytest.mark.parametrize("text", CHANGED.values(), ids=CHANGED)
def test_an_expression_that_may_change(text: str, tmp_path: Path) -> None:
    assert not keeps(tmp_path, text)


def test_attributes_that_are_set_from_each_other(tmp_path: Path) -> None:
    text = "def f(a, b):\n    a.seed = b.seed\n    b.seed = a.seed\n    op(a.seed)"
    assert not keeps(tmp_path, text)
