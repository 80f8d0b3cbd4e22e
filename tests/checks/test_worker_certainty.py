"""How sure TRP202 is of what workers draw: before PyTorch 1.9, and from generators that the data set holds."""

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


SHARDS = """
import numpy as np
from torch.utils.data import DataLoader, IterableDataset


class Shards(IterableDataset):
    def __init__(self, shards):
        self.shards = shards
        self.rng = np.random.RandomState(0)

    def __iter__(self):
        BODY


loader = DataLoader(Shards([]), batch_size=4, num_workers=4)
"""


@pytest.mark.parametrize(
    ("body", "certainty"),
    [
        ("for i in self.rng.permutation(len(self.shards)): yield from self.shards[i]", Certainty.DEPENDS),
        ("self.rng.shuffle(self.shards); yield from self.shards", Certainty.DEPENDS),
        ("for shard in self.shards: self.rng.shuffle(shard); yield shard", Certainty.LIKELY),
        ("for shard in self.shards: yield shard + self.rng.normal()", Certainty.LIKELY),
    ],
)
def test_one_order_for_a_pass_may_be_what_workers_share_the_data_by(
    tmp_path: Path, body: str, certainty: Certainty
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(SHARDS.replace("BODY", body))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP202"]})
    found = check(Request((tmp_path,), resolver)).findings
    assert [(f.certainty, f.fix is None or f.fix.safety is Safety.UNSAFE) for f in found] == [
        (certainty, certainty is Certainty.DEPENDS)
    ]
