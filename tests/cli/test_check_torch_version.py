"""`--torch-version`: one file, four releases, and what the catalogue's rows say of each."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import Run

from torchrepro_lint.kernels.operations import Operation, every

MODEL = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear")
        self.volume = nn.Upsample(scale_factor=2, mode="trilinear")
        self.edge = nn.ReflectionPad2d(1)
        self.copy = nn.ReplicationPad1d(1)
        self.pool = nn.MaxPool3d(3, stride=1)
        self.squeeze = nn.AdaptiveAvgPool2d(7)

    def forward(self, x: torch.Tensor, index, values: torch.Tensor):
        total = torch.cumsum(torch.rand(8, device=x.device), 0)
        return x.scatter_add(0, index, values), total, x.kthvalue(3)
"""
RULE_OF = {
    "2.0": {
        "interpolate-bilinear": "TRP501", "interpolate-trilinear": "TRP501", "reflection-pad2d-module": "TRP501",
        "replication-pad1d-module": "TRP501", "max-pool3d": "TRP501", "adaptive-avg-pool2d": "TRP501",
        "cumsum": "TRP501", "kthvalue": "TRP501", "scatter-add": "TRP502",
    },
    "2.4": {
        "interpolate-bilinear": "TRP502", "interpolate-trilinear": "TRP501", "reflection-pad2d-module": "TRP501",
        "replication-pad1d-module": "TRP502", "max-pool3d": "TRP501", "adaptive-avg-pool2d": "TRP501",
        "cumsum": "TRP501", "kthvalue": "TRP501", "scatter-add": "TRP502",
    },
    "2.9": {
        "interpolate-bilinear": "TRP502", "interpolate-trilinear": "TRP502", "reflection-pad2d-module": "TRP502",
        "replication-pad1d-module": "TRP502", "max-pool3d": "TRP501", "adaptive-avg-pool2d": "TRP501",
        "cumsum": "TRP502", "kthvalue": "TRP501", "scatter-add": "TRP502",
    },
    "2.13": {
        "interpolate-bilinear": "TRP502", "interpolate-trilinear": "TRP502", "reflection-pad2d-module": "TRP502",
        "replication-pad1d-module": "TRP502", "max-pool3d": "TRP502", "adaptive-avg-pool2d": "TRP501",
        "cumsum": "TRP502", "scatter-add": "TRP502",
    },
}  # fmt: skip


@pytest.mark.parametrize("version", RULE_OF)
def test_each_release_has_its_own_answer(run: Run, project: Path, version: str) -> None:
    (project / "model.py").write_text(MODEL)
    done = run("model.py", "--select", "TRP5", "--torch-version", version, "--output-format", "json")
    found = {f["properties"]["operation"]: f["code"] for f in json.loads(done.stdout)}
    assert found == RULE_OF[version]


@pytest.mark.parametrize(("older", "newer"), list(pairwise(RULE_OF)))
def test_each_difference_is_a_row_of_the_catalogue(older: str, newer: str) -> None:
    before, after = RULE_OF[older], RULE_OF[newer]
    differing = {name for name in before if before[name] != after.get(name)}
    assert differing
    rows = {row.id: row for row in every()}
    for name in differing:
        assert _flag(rows[name], older) != _flag(rows[name], newer), name
    for name in before.keys() - differing:
        assert _flag(rows[name], older) == _flag(rows[name], newer), name


def _flag(row: Operation, version: str) -> str:
    """What the flag makes of the operation on CUDA in a release."""
    release = tuple(int(part) for part in version.split("."))
    return next(b.flag for b in row.behaviour if b.covers(release, "cuda"))
