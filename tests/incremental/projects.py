"""A small project of the kind that people train in: programs, a library, tests, and lists of requirements."""

from __future__ import annotations

import os
from pathlib import Path

FILES = {
    "pyproject.toml": "",
    "requirements.txt": "torch>=2.1\nnumpy\n",
    "utils.py": """\
import random

import numpy as np
import torch


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def jitter(x):
    return x + np.random.rand()
""",
    "model.py": """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear")
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.up(x)).cumsum(0)
""",
    "data.py": """\
import os

from torch.utils.data import DataLoader, Dataset

from utils import jitter


class Images(Dataset):
    def __init__(self, root):
        self.names = os.listdir(root)

    def __getitem__(self, index):
        return jitter(self.names[index])


def loader(root, workers):
    return DataLoader(Images(root), shuffle=True, num_workers=workers)
""",
    "train.py": """\
import argparse

import torch

from data import loader
from model import Net
from utils import set_seed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    net = Net().cuda()
    if args.seed is not None:
        set_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    for batch in loader("images", 4):
        net(batch).sum().backward()


if __name__ == "__main__":
    main()
""",
    "evaluate.py": """\
import torch

from model import Net

torch.manual_seed(0)
print(Net()(torch.rand(1, 3, 8, 8)))
""",
    "lib/__init__.py": "from .sampling import sample\n",
    "lib/sampling.py": """\
import random


def sample(items):
    return random.choice(list(set(items)))  # noqa: TRP205
""",
    "tests/test_model.py": "import torch\n\n\ndef test_it():\n    assert torch.rand(1) < 1\n",
}
LONG_AGO = 1_600_000_000


def write_project(root: Path) -> Path:
    """The project in a new folder, not edited for long."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (LONG_AGO, LONG_AGO))
    return root
