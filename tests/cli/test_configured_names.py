"""The settings that add a team's own names to the catalogue: seeders, loaders and functions that draw."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run

TRAIN = """\
import torch
from mylab.augment import jitter
from mylab.data import FastLoader
from mylab.repro import fix_everything
from own import Loader

if __name__ == "__main__":
    torch.manual_seed(0)
    for batch in FastLoader([1], shuffle=True):
        jitter(batch).backward()
    Loader([1], shuffle=True)
"""
OWN = """\
class Loader:
    def __init__(self, data, batch_size=1, shuffle=False):
        self.data = data
"""


def found(run: Run, project: Path, settings: str, text: str = TRAIN) -> list[str]:
    """The findings in train.py as line and code."""
    (project / "torchrepro-lint.toml").write_text(settings)
    (project / "train.py").write_text(text)
    (project / "own.py").write_text(OWN)
    done = run("--select", "TRP101,TRP201", "--output-format", "concise", "train.py")
    return [f"{line.split(':')[1]} {line.split()[1]}" for line in done.stdout.splitlines() if ": TRP" in line]


@pytest.mark.parametrize(
    ("settings", "findings"),
    [
        ("", []),
        ('loader-classes = ["mylab.data.FastLoader"]', ["9 TRP201"]),
        ('loader-classes = ["own.Loader"]', ["11 TRP201"]),
        ('loader-classes = ["elsewhere.Loader"]', []),
        ('rng-functions = ["mylab.augment.jitter:numpy"]', ["7 TRP101"]),
        ('rng-functions = ["mylab.augment.jitter"]', []),  # torch, which is seeded
        ('rng-functions = ["mylab.augment.jitter:python"]', ["7 TRP101"]),
    ],
)
def test_names_of_a_package_and_of_the_project(run: Run, project: Path, settings: str, findings: list[str]) -> None:
    assert found(run, project, settings) == findings


def test_a_seeder_of_a_package_is_believed(run: Run, project: Path) -> None:
    text = TRAIN.replace("torch.manual_seed(0)", "fix_everything()")
    settings = 'rng-functions = ["mylab.augment.jitter:numpy"]\n'
    assert found(run, project, settings, text) == ["7 TRP101"]
    assert found(run, project, settings + 'seed-functions = ["mylab.repro.fix_everything"]', text) == []


def test_they_are_among_the_settings_shown(run: Run, project: Path) -> None:
    found(run, project, 'loader-classes = ["own.Loader"]\nrng-functions = ["mylab.augment.jitter:numpy"]')
    shown = run("--show-settings", "train.py").stdout
    assert 'loader-classes = ["own.Loader"]  # torchrepro-lint.toml loader-classes' in shown
    assert 'rng-functions = ["mylab.augment.jitter:numpy"]  # torchrepro-lint.toml rng-functions' in shown
