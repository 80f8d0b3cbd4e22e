"""Pipelines of albumentations have generators of their own from 1.4.21 on: what the project asks for decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

PROGRAM = """\
import albumentations as A
import torch
from torch.utils.data import DataLoader, Dataset

augment = A.Compose([A.HorizontalFlip()])


class Scans(Dataset):
    def __getitem__(self, index):
        return augment(image=index)["image"]


torch.manual_seed(0)
loader = DataLoader(Scans(), num_workers=4)
"""


def found(folder: Path, asked: str | None) -> set[str]:
    (folder / "pyproject.toml").write_text("")
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text(PROGRAM)
    if asked is not None:
        (folder / "requirements.txt").write_text(f"torch\nalbumentations{asked}\n")
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP104", "TRP202"]})
    return {finding.code for finding in check(Request((folder,), resolver)).findings}


@pytest.mark.parametrize("asked", [None, "", ">=1.0", "==1.4.24", "<2", "~=1.4.10"])
def test_a_release_with_generators_of_its_own_may_be_installed(asked: str | None, tmp_path: Path) -> None:
    assert found(tmp_path, asked) == {"TRP104", "TRP202"}


@pytest.mark.parametrize("asked", ["==1.0.0", "<1.4", "~=1.3.0", "==1.3.*"])
def test_older_releases_draw_from_the_global_generators(asked: str, tmp_path: Path) -> None:
    assert found(tmp_path, asked) == set()
