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


OTHER = """\
import torch


class Other:
    def keep(self):
        torch.save({"optimizer": self.optimizer.state_dict()}, "other.pt")

    def resume(self):
        self.optimizer.load_state_dict(torch.load("other.pt")["optimizer"])


def shown(loss):
    print(loss.item())
    return loss
"""

TRAINER = """\
import torch
from other import shown


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def keep(self):
        torch.save({"optimizer": self.optimizer.state_dict()}, "last.pt")

    def resume(self):
        self.optimizer.load_state_dict(torch.load("last.pt")["optimizer"])

    def train(self):
        self.resume()
        for _ in range(9):
            shown(self.model(torch.rand(8, 4)).sum()).backward()
            self.optimizer.step()
            self.keep()
"""

RUN = """\
import torch
from other import shown
from trainer import Trainer

torch.manual_seed(0)
shown(torch.zeros(1))
Trainer().train()
"""


def test_what_runs_comes_before_what_only_has_the_name_of_what_runs(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "other.py").write_text(OTHER)
    (tmp_path / "trainer.py").write_text(TRAINER)
    (tmp_path / "train.py").write_text(RUN)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP701"]})
    (finding,) = check(Request((tmp_path,), resolver)).findings
    related = [(place.location.path, place.location.range.start.line) for place in finding.related]
    assert related == [("trainer.py", 11), ("trainer.py", 14)]
