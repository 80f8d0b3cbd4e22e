"""TRP111 knows of the program that a file starts; of others it says on what it depends."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
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
