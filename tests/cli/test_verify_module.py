"""`verify --module`: the user's own code, imported only where it is asked for, and told of."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run

pytest.importorskip("torch")

MODEL = """\
import os
import torch
from torch import nn

print("imported")


class Noisy(nn.Module):
    def forward(self, x):
        return x + float(os.urandom(1)[0]) / 1e6


def build():
    return nn.Sequential(nn.Linear(4, 4), Noisy(), nn.Linear(4, 2))


def quiet():
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def batch():
    return torch.randn(3, 4)
"""


@pytest.mark.usefixtures("forks")
def test_the_layer_that_varies_is_named(project: Path, run: Run) -> None:
    (project / "models").mkdir()
    (project / "models" / "small.py").write_text(MODEL)
    named = ("--module", "models.small:build", "--inputs", "models.small:batch")
    done = run("verify", *named, "--device", "cpu", "--repeats", "8")
    text = done.stdout
    assert f"imports and calls models.small:build and models.small:batch, from {project}" in done.stderr
    assert "it comes from `1` (Noisy), forward" in text
    assert done.exit_code == 1
    named = ("--module", "models.small:quiet", "--inputs", "models.small:batch")
    done = run("verify", *named, "--device", "cpu", "--repeats", "8")
    assert "all 8 runs in 2 processes agreed" in done.stdout
    assert "Deterministic algorithms change no bit" in done.stdout
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--module", "m:f"), "--module and --inputs belong together"),
        (("--module", "m", "--inputs", "m:g"), "--module: 'm' is no package.module:function"),
        (("--module", "m:f", "--inputs", "m:g", "--all"), "one of them"),
        (("--module", "m:f", "--inputs", "m:g", "--dtype", "float16"), "has inputs of its own"),
    ],
)
def test_what_cannot_be_asked(run: Run, arguments: tuple[str, ...], told: str) -> None:
    done = run("verify", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr
