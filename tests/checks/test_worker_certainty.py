"""How sure TRP202 is of what workers draw before PyTorch 1.9."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.elements import Certainty
from torchrepro_lint.engine import Request, check
from torchrepro_lint.model import Safety
from torchrepro_lint.settings import SettingsResolver

TEXT = """
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, waves, mixup):
        self.waves, self.mixup = waves, mixup

    def __getitem__(self, index):
        if self.mixup:
            return self.waves[index] * np.random.beta(10, 10)
        return self.waves[index]

    def __len__(self):
        return len(self.waves)


loader = DataLoader(Waves([], CONFIG["mixup"]), batch_size=4, shuffle=SHUFFLE, num_workers=4)
"""


@pytest.mark.parametrize(("shuffle", "certainty"), [("True", Certainty.CERTAIN), ("False", Certainty.DEPENDS)])
def test_what_is_loaded_in_order_may_not_be_augmented(tmp_path: Path, shuffle: str, certainty: Certainty) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TEXT.replace("SHUFFLE", shuffle))
    overrides = {"select": ["TRP202"]}
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides=overrides)
    assert [f.certainty for f in check(Request((tmp_path,), resolver, torch_version="1.8")).findings] == [certainty]


def test_what_only_may_draw_is_seeded_beside_what_does(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    in_order = TEXT.replace("SHUFFLE", "False")
    shuffled = in_order.replace("=False", "=True").splitlines()[-1]
    training = "\nfor batch in loader:\n    model(batch).backward()\n    optimizer.step()\n"
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP202"]})
    safeties = []
    for text in (in_order, f"{in_order}{shuffled}\n"):
        (tmp_path / "train.py").write_text(text + training)
        found = check(Request((tmp_path,), resolver, torch_version="1.8")).findings
        safeties.append([f.fix.safety for f in found if f.fix is not None])
    assert safeties == [[Safety.UNSAFE], [Safety.SAFE, Safety.SAFE]]
