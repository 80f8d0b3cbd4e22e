"""Which generators TRP101 names of a program that does not train."""

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
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    [finding] = check(Request((tmp_path,), resolver)).findings
    assert f"the global {named} and never seeds" in finding.message
