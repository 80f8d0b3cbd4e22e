"""The fix of TRP403, where releases and formatters differ. Its card shows the usual case."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_data_loading_fixes import fixed

BEFORE = """\
import random

import torch


def seed_all(seed):
    torch.manual_seed(seed)
    random.seed(seed)


seed_all(3)
q = torch.rand(2, 4, 128, 64, device="cuda", requires_grad=True)
torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
"""
CONVOLUTION = """\
import numpy as np
import torch
import torch.backends.cudnn as cudnn

SEED = 3
torch.manual_seed(SEED)
if torch.cuda.is_available():
    torch.cuda.manual_seed_all(SEED)
model = torch.nn.Conv2d(3, 8, 3).cuda()
model(torch.rand(4, 3, 8, 8).cuda()).sum().backward()
"""
SETTLED = "    torch.cuda.manual_seed_all(SEED)\ncudnn.deterministic = True\nmodel"
FLAG = "    random.seed(seed)\n    torch.use_deterministic_algorithms(True)\n"
VARIABLE = "    random.seed(seed)\n    os.environ.setdefault({0}CUBLAS_WORKSPACE_CONFIG{0}, {0}:4096:8{0})\n"


def test_it_goes_below_the_seeds_that_stand_together(tmp_path: Path) -> None:
    after = fixed(tmp_path, "TRP403", BEFORE, unsafe=True)
    assert after.startswith("import os\nimport random\n")
    assert VARIABLE.format('"') in after
    assert fixed(tmp_path, "TRP403", BEFORE) == BEFORE


def test_the_variable_is_for_releases_that_ask_for_it(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.10\n")
    after = fixed(tmp_path, "TRP403", BEFORE, unsafe=True)
    assert FLAG in after
    assert "CUBLAS" not in after


@pytest.mark.parametrize("wanted", ["==1.7.1", ">=1.6"])
def test_releases_without_the_flag_are_left_alone(wanted: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"torch{wanted}\n")
    assert fixed(tmp_path, "TRP403", BEFORE, unsafe=True) == BEFORE


def test_quotes_are_those_of_the_formatter(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text('[format]\nquote-style = "single"\n')
    assert VARIABLE.format("'") in fixed(tmp_path, "TRP403", BEFORE, unsafe=True)


def test_convolutions_are_settled_safely_whatever_the_release(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=1.0\n")
    assert SETTLED in fixed(tmp_path, "TRP403", CONVOLUTION)


RUN_WITH_A_SEED = """\
import torch
from sacred import Experiment

ex = Experiment("conv")


@ex.command
def train():
    model = torch.nn.Conv2d(3, 8, 3).cuda()
    model(torch.rand(4, 3, 8, 8).cuda()).sum().backward()


ex.run_commandline()
"""


def test_nothing_goes_below_the_call_that_runs_the_program(tmp_path: Path) -> None:
    assert fixed(tmp_path, "TRP403", RUN_WITH_A_SEED, unsafe=True) == RUN_WITH_A_SEED


WITH_A_STAR = """\
from settings import *

torch.manual_seed(SEED)
model = torch.nn.Conv2d(3, 8, 3).cuda()
model(torch.rand(4, 3, 8, 8).cuda()).sum().backward()
"""


def test_a_module_that_a_star_import_brings_is_not_imported_again(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("import torch\n\nSEED = 3\n")
    after = fixed(tmp_path, "TRP403", WITH_A_STAR)
    assert after == WITH_A_STAR.replace("(SEED)\n", "(SEED)\ntorch.backends.cudnn.deterministic = True\n")


TWO_GENERATORS = """\
import argparse

import numpy as np
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(args.seed)
model = torch.nn.Conv2d(3, 8, 3).cuda()
for _ in range(3):
    images = torch.tensor(np.random.rand(4, 3, 8, 8)).float()
    model(images.cuda()).sum().backward()
"""


def test_seeds_of_another_fix_come_before_the_switch(tmp_path: Path) -> None:
    seeds = "torch.manual_seed(args.seed)\nnp.random.seed(args.seed)\n"
    assert seeds + "torch.backends.cudnn.deterministic = True\n" in fixed(tmp_path, "ALL", TWO_GENERATORS)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SEED = 3\n", "SEED = 3\n# cudnn.deterministic = True\n"),
        ("SEED = 3\n", "SEED = 3\n# Deterministic convolutions take too long.\n"),
        ("model = ", "start = torch.cuda.Event(enable_timing=True)\nmodel = "),
        ("torch.manual_seed(SEED)\n", "print(torch.manual_seed(SEED))\n"),
        (
            "torch.manual_seed(SEED)\n",
            "class Made:\n    def __init__(self):\n        torch.manual_seed(SEED)\n\n\nmade = Made()\n",
        ),
    ],
)
def test_a_person_decides_where_somebody_may_have(before: str, after: str, tmp_path: Path) -> None:
    program = CONVOLUTION.replace(before, after, 1)
    assert fixed(tmp_path, "TRP403", program) == program
    assert "cudnn.deterministic = True\n" in fixed(tmp_path, "TRP403", program, unsafe=True)
