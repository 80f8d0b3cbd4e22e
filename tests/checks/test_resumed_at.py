"""Which place a finding about resumed training leads to."""

from __future__ import annotations

from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

PROGRAM = """\
import json

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
checkpoint = torch.load("last.pt")
options = json.load(open("options.json"))
optimizer.load_state_dict(checkpoint["optimizer"])
for epoch in range(checkpoint["epoch"], options["epochs"]):
    model(torch.rand(8, 4)).sum().backward()
    optimizer.step()
    torch.save({"optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
"""


def test_training_is_resumed_where_its_checkpoint_is_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(PROGRAM)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP701"]})
    (finding,) = check(Request((tmp_path,), resolver)).findings
    assert [(place.location.range.start.line, place.message) for place in finding.related] == [(8, "resumed here")]
