"""Which generators TRP101 names."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

TEXT = """
import json
import random

import numpy as np
import torch


def main():
    letters = torch.load("letters.pt")
    random.shuffle(letters)
    SIZES
    with open("writers.json", "w") as writers:
        json.dump([letters[: int(size)] for size in sizes], writers)


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ("sizes = np.random.lognormal(4, 1, 10)", "numpy and python generators"),
        ("sizes = np.arange(10)", "python generator"),
        ("np.random.seed(0); sizes = np.random.lognormal(4, 1, 10)", "python generator"),
        ("if letters.loose:\n        sizes = np.random.lognormal(4, 1, 10)", "python generator"),
    ],
)
def test_what_is_sampled_besides_is_named(sizes: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "prepare.py").write_text(TEXT.replace("SIZES", sizes))
    assert f"the global {named} and never seeds" in _message(tmp_path)


TRAINING = """
import importlib
import sys

import numpy as np
import torch

MODEL
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(9):
    net(torch.from_numpy(np.random.rand(4, 2))).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("net = importlib.import_module(sys.argv[1]).build()", "torch and numpy generators"),
        ("net = torch.jit.load(sys.argv[1])", "numpy generator"),
    ],
)
def test_torch_is_named_where_what_is_trained_is_built_out_of_sight(model: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TRAINING.replace("MODEL", model))
    assert f"the global {named} and never seeds" in _message(tmp_path)


def _message(folder: Path) -> str:
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    [finding] = check(Request((folder,), resolver)).findings
    return finding.message


LATE_AND_ASKED_FOR = """
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
args = parser.parse_args()
net = torch.nn.Linear(4, 2)
if args.seed is not None:
    torch.manual_seed(args.seed)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(9):
    net(torch.ones(4)).sum().backward()
    optimizer.step()
"""


def test_what_seeds_later_if_it_is_asked_to_seeds(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(LATE_AND_ASKED_FOR)
    assert "without having seeded it on the way there" in _message(tmp_path)
