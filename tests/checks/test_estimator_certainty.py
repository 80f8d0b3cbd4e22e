"""TRP111 knows of the program that a file starts; of others it says on what it depends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver

CLUSTERS = """\
import sys

import torch
from sklearn.cluster import KMeans


def clusters(model, points):
    found = KMeans(n_clusters=4).fit(points.numpy())
    model.centres.data = torch.from_numpy(found.cluster_centers_)
{main}
"""
MAIN = """

if __name__ == "__main__":
    net = torch.load(sys.argv[1])
    {first}
    clusters(net, torch.load(sys.argv[2]))
    net(torch.ones(1)).sum().backward()
"""


@pytest.mark.parametrize(
    ("main", "wanted"),
    [
        ("", [("note", "depends")]),
        (MAIN.format(first="pass"), [("warning", "likely")]),
        (MAIN.format(first="torch.manual_seed(0)"), [("warning", "likely")]),
        (MAIN.format(first="__import__(sys.argv[3]).seed_all()"), [("note", "depends")]),
        (MAIN.format(first="net.set_seed(0)"), [("note", "depends")]),
    ],
)
def test_a_file_that_is_a_program_that_does_not_seed_numpy(
    tmp_path: Path, main: str, wanted: list[tuple[str, str]]
) -> None:
    (tmp_path / "train.py").write_text(CLUSTERS.format(main=main))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP111"]})
    found = check(Request((tmp_path,), resolver)).findings
    assert [(f.level.value, f.certainty.value) for f in found] == wanted


def test_the_number_of_a_cell_comes_before_that_of_its_notebook(tmp_path: Path) -> None:
    made = "from sklearn.model_selection import train_test_split\nfrom sklearn.linear_model import SGDClassifier\n"
    split = "train, test = train_test_split(rows, random_state={number})\n"
    first = f"{made}import pandas as pd\n\nrows = pd.read_csv('a.csv')\n" + 2 * split.format(number=7)
    cells = [first, f"net = SGDClassifier()\n{split.format(number=42)}net.fit(train)"]
    book = {"cells": [{"cell_type": "code", "metadata": {}, "source": c, "outputs": []} for c in cells], "nbformat": 4}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(book))
    fix(Request((tmp_path,), SettingsResolver(cards.codes(), isolated=True)), unsafe=False, write=True)
    assert "SGDClassifier(random_state=42)" in path.read_text()


@pytest.mark.parametrize("last", ["plt.show()", "net.fit(rows)"])
def test_what_a_notebook_only_plots_may_be_other_rows_each_time(last: str, tmp_path: Path) -> None:
    first = "import pandas as pd\nimport matplotlib.pyplot as plt\n"
    shown = "rows = pd.read_csv('a.csv')\nrows = rows.sample(frac=1)\nrows = rows[:9].reset_index(drop=True)\n"
    plotted = "for i in range(9):\n    plt.imshow(rows.iloc[i, 1:].values.reshape(28, 28))\n"
    plotted += "    plt.title(names[rows.iloc[i, 0]])\n"
    cells = [first, f"{shown}{plotted}{last}\n", "rows = pd.read_csv('a.csv')\nnet.fit(rows)"]
    book = {"cells": [{"cell_type": "code", "metadata": {}, "source": c, "outputs": []} for c in cells], "nbformat": 4}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(book))
    fix(Request((tmp_path,), SettingsResolver(cards.codes(), isolated=True)), unsafe=False, write=True)
    assert ("random_state" in path.read_text()) is (last != "plt.show()")
