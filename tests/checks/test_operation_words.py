"""How a finding names the operation that it is about."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from torchrepro_lint.cli.program import program

LAYER = """\
from torch_geometric.nn import MessagePassing


class Convolution(MessagePassing):
    def __init__(self):
        super().__init__(aggr="add")

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)
"""


def test_a_constructor_called_through_super_is_named_by_its_class(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(LAYER)
    done = CliRunner().invoke(program, [str(tmp_path), "--select", "TRP504", "--output-format", "json"])
    (finding,) = json.loads(done.stdout)
    assert finding["message"].startswith("`MessagePassing` ")


def test_a_size_that_cannot_be_read_is_what_it_depends_on(tmp_path: Path) -> None:
    call = "F.avg_pool3d(x, options.window, stride=2)"
    text = f"import torch.nn.functional as F\n\n\ndef loss(x, options):\n    return {call}.sum()\n"
    (tmp_path / "train.py").write_text(text)
    done = CliRunner().invoke(program, [str(tmp_path), "--select", "TRP501", "--output-format", "json"])
    (finding,) = json.loads(done.stdout)
    assert finding["message"].endswith("and `stride` is smaller than `kernel_size`")
