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
model = torch.nn.Conv2d(3, 8, 3).cuda()
model(torch.rand(4, 3, 8, 8).cuda()).sum().backward()
"""
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
