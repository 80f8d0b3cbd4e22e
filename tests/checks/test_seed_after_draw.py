"""TRP103 names the seed as the reader of the file meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

TRAINER = """\
import torch


class Trainer:
    def __init__(self, model, seed):
        torch.manual_seed(seed)
        self.model = model
"""
PROGRAM = """\
import torch
{imported}

if __name__ == "__main__":
    model = torch.nn.Linear(2, 2)
    {seed}
    model(torch.rand(1, 2)).sum().backward()
"""


@pytest.mark.parametrize(
    ("imported", "seed", "named"),
    [
        ("from trainer import Trainer", "Trainer(model, seed=1)", "Trainer(...)"),
        ("from trainer import Trainer", "torch.manual_seed(1)", "torch.manual_seed(1)"),
        (TRAINER, "Trainer(model, seed=1)", "torch.manual_seed(seed)"),
        ("", "torch.manual_seed(\n        1,\n    )", "torch.manual_seed(...)"),
    ],
)
def test_the_call_of_this_file_is_named(imported: str, seed: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "trainer.py").write_text(TRAINER)
    (tmp_path / "train.py").write_text(PROGRAM.format(imported=imported, seed=seed))
    request = Request((tmp_path,), SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP103"]}))
    (found,) = check(request).findings
    assert f"before `{named}` seeds it" in found.message


SHOWN = """\
example = np.random.randint(0, len(rows))
print(rows[example])
"""
SPLIT = """\
order = np.random.permutation(len(rows))
rows = rows[order]
"""
TRAINED = """\
np.random.seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for row in np.random.permutation(rows):
    net(torch.from_numpy(row)).sum().backward()
    optimizer.step()
"""


SHUFFLED = "np.random.shuffle(rows)\n"
CHANGED = "rows[np.random.randint(9)] = 0\n"
LOADED = "rows = np.load('part.npy')\n"
SAVED = "np.save('part.npy', rows[np.random.permutation(len(rows))])\n"
FITTED = """\
import trl
trainer = trl.DPOTrainer("gpt2", args=trl.DPOConfig(), train_dataset=rows)
trainer.train()
"""


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        ([SHOWN, TRAINED], []),
        ([SPLIT, TRAINED], ["numpy"]),
        ([SHOWN, SPLIT, TRAINED], ["numpy"]),
        ([SHOWN, SHOWN, TRAINED], []),
        ([SAVED, TRAINED], []),
        ([SAVED, LOADED, TRAINED], ["numpy"]),
        ([SHUFFLED, TRAINED], ["numpy"]),
        ([CHANGED, TRAINED], ["numpy"]),
        ([SPLIT, FITTED], ["numpy"]),
        ([SHOWN, FITTED], []),
    ],
)
def test_a_cell_of_a_notebook_that_shows_an_example_decides_nothing(
    tmp_path: Path, cells: list[str], wanted: list[str]
) -> None:
    sources = ["import numpy as np\nimport torch\n\nrows = np.load('rows.npy')\n", *cells]
    book = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": book, "metadata": {}, "nbformat": 4}))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP103"]})
    found = check(Request((tmp_path,), resolver)).findings
    assert [f.properties["family"] for f in found] == wanted
