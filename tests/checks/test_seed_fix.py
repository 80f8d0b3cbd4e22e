"""Where the fix of TRP101 seeds a program, and where a person has to decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

NOISE = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer = accelerator.prepare(torch.nn.Linear(4, 4), None)
for batch in torch.ones(8, 2, 4):
    {draw}
    accelerator.backward(model(batch).sum())
    optimizer.step()
"""


def fixes(folder: Path, text: str) -> list[bool]:
    """Whether each finding of TRP101 has a fix that is safe."""
    (folder / "pyproject.toml").write_text("")
    (folder / "train.py").write_text(text)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    return [f.fix is not None for f in check(Request((folder,), resolver)).findings]


@pytest.mark.parametrize(("draw", "fixed"), [("batch += torch.randn_like(batch)", False), ("pass", True)])
def test_ranks_keep_the_noise_that_each_draws(draw: str, fixed: bool, tmp_path: Path) -> None:
    """One constant for all of them would give every process the same noise."""
    assert fixes(tmp_path, NOISE.format(draw=draw)) == [fixed]
